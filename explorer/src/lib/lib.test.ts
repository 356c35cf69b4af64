import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FUNCTIONS, learnPaths } from '../editor/sql';
import { itemRow, listQuery } from '../wire/api';
import { WireError } from '../wire/error';
import { keyHeader, keyOf, pathExpression, pathNames } from '../wire/key';
import { authorization, importKey, WELL_KNOWN_KEY } from '../wire/sign';
import { scaledAt } from './autoscale';
import { itemsInFile, textOf } from './files';
import { CsvText, itemFromCells, parseCsv } from './csv';
import { elements, members, parse, pretty, storedBytes, stringify, withMember, withoutSystem } from './json_text';
import { computedProblems, idProblem, keyPathProblem, policyProblems, withIndexes } from './policy';

test('signatures are those of the protocol', async () => {
  const key = await importKey(WELL_KNOWN_KEY);
  const date = 'Thu, 27 Apr 2017 00:51:12 GMT';
  const sign = async (verb: string, type: string, link: string) => decodeURIComponent(await authorization(key, verb, type, link, date));
  assert.equal(await sign('GET', 'dbs', 'dbs/ToDo'), 'type=master&ver=1.0&sig=RKPRDeFTkXpQuohnwb8QlujeTyp7nbzERgUTZLDRnqA=');
  assert.equal(await sign('POST', 'docs', 'dbs/ToDo/colls/Items'), 'type=master&ver=1.0&sig=v/cVYMu7GxjHCLiNc+MGU3vX9QPm6WiCgxoD37sMFjA=');
  assert.equal(await sign('GET', '', ''), 'type=master&ver=1.0&sig=gFB1bRB/PLJTG3bCgMuoVgNzOyFvZAamzEtLuSITjRc=');
});

test('JSON text keeps digits, order and strings', () => {
  const text = '{"b":1.50,"a":{"big":9007199254740993,"s":"x,\\"}]{"},"e":[],"o":{},"l":[1,[2,{"q":null}]],"_etag":"x"}';
  assert.deepEqual(members(text).map((m) => m.name), ['b', 'a', 'e', 'o', 'l', '_etag']);
  assert.equal(members(text)[0]!.value, '1.50');
  assert.equal(withoutSystem(text), text.replace(',"_etag":"x"', ''));
  assert.deepEqual(JSON.parse(pretty(text)), JSON.parse(text));
  assert.match(pretty(text), /"big": 9007199254740993/);
  assert.match(pretty(text), /"e": \[\],\n {2}"o": \{\}/);
  assert.deepEqual(elements('[1, "a,b" ,{"x":[1,2]}, [ ] ]'), ['1', '"a,b"', '{"x":[1,2]}', '[ ]']);
  assert.deepEqual(elements('[]'), []);
  assert.deepEqual(members('[1]'), []);
  assert.equal(withMember('{"id":"a","n":1.0}', 'id', '"b"'), '{"id":"b","n":1.0}');
  assert.equal(stringify(parse('{"a":[1,true,null,"x"]}')), '{"a":[1,true,null,"x"]}');
});

test('keys are read from items and written as headers', () => {
  assert.deepEqual(pathNames('/a/"odd/name"/b'), ['a', 'odd/name', 'b']);
  assert.equal(pathExpression('/a/b'), 'c["a"]["b"]');
  const definition = { paths: ['/t', '/u/v'] };
  assert.equal(keyHeader(keyOf({ t: 'é', u: { v: 5 } }, definition)), '["\\u00e9",5]');
  assert.equal(keyHeader(keyOf({ u: { v: null } }, definition)), '[{},null]');
  assert.equal(keyHeader(keyOf({ t: { not: 'a key' } }, definition)), '[{},{}]');
  assert.equal(keyHeader([], { paths: ['/_partitionKey'], systemKey: true }), '[]');
});

test('the list of items asks for what addresses them', () => {
  const definition = { paths: ['/a/b'] };
  assert.equal(listQuery(definition, ''), 'SELECT VALUE {"id": c.id, "ts": c._ts, "k0": c["a"]["b"]} FROM c');
  assert.match(listQuery(definition, 'c.x = 1'), /FROM c WHERE c\.x = 1$/);
  assert.match(listQuery(definition, 'order by c.x'), /FROM c order by c\.x$/);
  assert.deepEqual(itemRow('{"id":"i","ts":5}', definition), { id: 'i', ts: 5, key: [undefined] });
});

test('files of items', () => {
  assert.deepEqual(itemsInFile('a.json', ' [ {"a":1},\n{"a":2} ]'), ['{"a":1}', '{"a":2}']);
  assert.deepEqual(itemsInFile('a.json', '{\n "a": 1 }'), ['{\n "a": 1 }']);
  assert.deepEqual(itemsInFile('a.jsonl', '{"a":1}\r\n\n{"a":2}\n'), ['{"a":1}', '{"a":2}']);
  assert.deepEqual(itemsInFile('a.txt', '{"a":1}\n{"a":2}'), ['{"a":1}', '{"a":2}']);
  assert.throws(() => itemsInFile('a.json', '[{"a":1}'), /^Error: a\.json: /);
  assert.throws(() => itemsInFile('a.csv', 'id,n\n1,"2\n3,4\n'), /line 2 is never closed/);
  assert.throws(() => itemsInFile('a.csv', 'id,n\n1,2\n3,4,5\n'), /row 2 .* 3 fields, the header line 2/);
  assert.throws(() => itemsInFile('a.csv', 'id,id\n1,2\n'), /two columns are called “id”/);
  assert.throws(() => itemsInFile('a.csv', 'id,n\n'), /no items/);
  assert.throws(() => textOf('a.csv', new Uint8Array([0x4d, 0xfc, 0x6c]).buffer), /not UTF-8/);
});

test('CSV in and out', () => {
  assert.deepEqual([...parseCsv('a,b\r\n"x ""y"", z","1\n2"\n\n,\n')], [['a', 'b'], ['x "y", z', '1\n2'], ['', '']]);
  assert.deepEqual([...parseCsv('a;b\n1;2')], [['a', 'b'], ['1', '2']]);
  assert.equal(itemFromCells(['id', 'n', 'zip', 'o.p', 'big', 'list', 'none'], ['007', '1.5', '0123', 'true', '9007199254740993', '[1]', '']),
    '{"id":"007","n":1.5,"zip":"0123","o":{"p":true},"big":"9007199254740993","list":[1]}');
  const file = new CsvText();
  file.add(['{"a":"x,\\"y\\"","b":1,"_ts":5}', '{"a":null}']);
  file.add(['{"late":12,"a":[1]}', '7']);
  assert.equal(file.parts().join(''), 'a,b,late,value,_ts\r\n"x,""y""",1,,,5\r\nnull,,,,\r\n[1],,12,,\r\n,,,7,\r\n');
});

test('policies are checked', () => {
  assert.deepEqual(policyProblems('{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/?"}]}').problems, []);
  assert.deepEqual(policyProblems('{"indexingMode":"none"}').problems, []);
  for (const bad of [
    '{', '[]', '{"includedPaths":[{"path":"/a/?"}]}', '{"includedPaths":[{"path":"/*"},{"path":"/*"}]}', '{"includedPaths":[{"path":"/*"},{"path":"/a"}]}',
    '{"indexingMode":"lazy","includedPaths":[{"path":"/*"}]}', '{"includedPaths":[{"path":"/*"}],"foo":1}', '{"includedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/a"}]]}',
    '{"includedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/a","types":["Circle"]}]}',
  ]) assert.notDeepEqual(policyProblems(bad).problems, [], bad);
  assert.equal(keyPathProblem('/a/b'), null);
  for (const bad of ['', 'a', '/a/', '/a//b', '/a/*', '/a/[]']) assert.notEqual(keyPathProblem(bad), null, bad);
  assert.equal(idProblem('name'), null);
  for (const bad of ['', 'a/b', 'a#', 'a ', 'x'.repeat(256)]) assert.notEqual(idProblem(bad), null, bad);
  assert.equal(computedProblems([{ name: 'a', query: 'SELECT VALUE c.a FROM c' }]), null);
  assert.notEqual(computedProblems([{ name: 'a', query: 'SELECT c.a FROM c' }]), null);
});

test('recommended indexes are added once', () => {
  const policy = { includedPaths: [{ path: '/pk/?' }], excludedPaths: [{ path: '/*' }, { path: '/city/?' }] };
  const next = withIndexes(policy, ['/city/?', '/pk/?'], [['/a ASC', '/b DESC']]);
  assert.deepEqual(next.includedPaths, [{ path: '/pk/?' }, { path: '/city/?' }]);
  assert.deepEqual(next.excludedPaths, [{ path: '/*' }]);
  assert.deepEqual(next.compositeIndexes, [[{ path: '/a', order: 'ascending' }, { path: '/b', order: 'descending' }]]);
  assert.deepEqual(withIndexes(next, ['/city/?'], [['/a ASC', '/b DESC']]), next);
  const spatial = withIndexes(policy, ['/place/*'], []);
  assert.deepEqual(spatial.includedPaths, policy.includedPaths);
  assert.deepEqual(spatial.spatialIndexes, [{ path: '/place/*', types: ['Point', 'LineString', 'Polygon', 'MultiPolygon'] }]);
  assert.deepEqual(withIndexes(spatial, ['/place/*'], []), spatial);
});

test('errors of the protocol become words', () => {
  const headers = new Headers({ 'x-ms-substatus': '1002', 'x-ms-request-charge': '1.24', 'x-ms-retry-after-ms': '7' });
  const nested = WireError.from(409, headers, JSON.stringify({ code: 'Conflict', message: 'Message: {"Errors":["It exists."]}\r\nActivityId: x, y' }));
  assert.equal(nested.message, 'It exists.');
  assert.equal(nested.substatus, 1002);
  assert.equal(nested.retryAfterMs, 7);
  const query = WireError.from(400, new Headers(), JSON.stringify({ message: 'Message: {"errors":[{"code":"SC1001","message":"Syntax error","location":{"start":3,"end":5}}]}\r\nActivityId: x' }));
  assert.equal(query.message, 'SC1001: Syntax error');
  assert.deepEqual(query.details[0]!.location, { start: 3, end: 5 });
  const hinted = WireError.from(400, new Headers(), JSON.stringify({ message: 'Message: {"errors":[{"code":"SC2005","message":"Unknown.","hint":"Write LENGTH(x)."}]}\r\nActivityId: x' }));
  assert.equal(hinted.message, 'SC2005: Unknown. Write LENGTH(x).');
  assert.equal(WireError.from(401, new Headers(), JSON.stringify({ message: 'No.\r\nActivityId: x' })).message, 'No.');
  assert.equal(WireError.from(502, new Headers(), '<html>').message, '<html>');
});

test('completion learns paths from items', () => {
  const root = learnPaths([{ a: { b: 1 }, tags: [{ name: 'x' }] }, { a: { b: 'y' } }]);
  assert.deepEqual([...root.children.get('a')!.children.get('b')!.kinds], ['number', 'string']);
  assert.ok(root.children.get('tags')!.children.has('name'));
  assert.ok(FUNCTIONS.STARTSWITH);
});

test('autoscale follows the mean of five seconds between a tenth and the whole', () => {
  const used = (...charges: number[]) => ({ provisioned: 1000, seconds: charges.map((c): [number, number, number] => [c, 0, 0]) });
  assert.equal(scaledAt(used(0, 0, 0, 0, 0), 4), 100);
  assert.equal(scaledAt(used(0, 0, 1000, 1000, 500), 4), 500);
  assert.equal(scaledAt(used(5000, 5000, 5000, 5000, 5000), 4), 1000);
  assert.equal(scaledAt(used(2000), 0), 400);
});

test('the stored size leaves out white space between tokens only', () => {
  assert.equal(storedBytes('{ "a" : [ 1 ,\n 2 ], "b c": "d  \\" e é" }'), new TextEncoder().encode('{"a":[1,2],"b c":"d  \\" e é"}').length);
  assert.equal(storedBytes(''), 0);
});
