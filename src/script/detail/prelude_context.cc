#include "script/detail/prelude.h"

namespace orrery::script::detail {

// Takes the original functions before the script can change them. A script may change
// Array.prototype for itself, but the answers of the server must stay right. What goes to the
// native side is text made of objects without a prototype, so that no toJSON() of the script can
// change it.
const std::string_view kContextPrelude = R"js((function (native, settingsText) {
'use strict';
const {parse, stringify} = JSON;
const {freeze, create, defineProperty, keys} = Object;
const {apply, ownKeys} = Reflect;
const String = globalThis.String, Error = globalThis.Error, Promise = globalThis.Promise;
const promiseThen = Promise.prototype.then;
const isArray = Array.isArray;
const settings = parse(settingsText);
const isPreTrigger = settings.kind === 'pre', isPostTrigger = settings.kind === 'post';
const globalsBefore = new Set(ownKeys(globalThis));
const hasGlobal = Set.prototype.has.bind(globalsBefore);

function refuse(number, text) { throw new Error(number, text); }

// Callbacks run after the function that asked has returned, in the order of the calls.
let waiting = [], next = 0, failure;
// An asynchronous function fails by a promise.
function watch(result) {
    if (result instanceof Promise) apply(promiseThen, result, [undefined, (thrown) => { failure = {thrown}; }]);
}
function later(callback, values) { waiting[waiting.length] = {callback, values}; }

// `known`: the type of each option.
function takeOptions(options, callback, known) {
    if (typeof options === 'function' && callback === undefined) { callback = options; options = undefined; }
    if (callback === null) callback = undefined;
    if (callback !== undefined && typeof callback !== 'function') refuse(400, 'The callback must be a function.');
    if (options === undefined || options === null) options = {};
    if (typeof options !== 'object') refuse(400, 'The options must be an object.');
    const taken = create(null);
    for (const name of keys(options)) {
        if (options[name] === undefined || options[name] === null) continue;
        const type = known[name];
        if (type === undefined)
            refuse(400, "The option '" + name + "' is not known here. Known are: " + keys(known).join(', ') + '.');
        if (typeof options[name] !== type) refuse(400, "The option '" + name + "' must be a " + type + '.');
        taken[name] = options[name];
    }
    return {options: taken, callback};
}

function collectionLink(link) {
    if (typeof link === 'string') {
        const bare = link.endsWith('/') ? link.slice(0, -1) : link;
        if (bare === settings.self || bare === settings.alt) return;
    }
    refuse(400, "The link '" + String(link) + "' is not that of this script's collection. Use getSelfLink() or getAltLink().");
}
function itemLink(link) {
    if (typeof link === 'string') {
        const bare = link.endsWith('/') ? link.slice(0, -1) : link;
        for (const owner of [settings.self, settings.alt]) {
            const start = owner + '/docs/';
            if (!bare.startsWith(start)) continue;
            const rest = bare.slice(start.length);
            if (rest !== '' && !rest.includes('/')) return owner === settings.self ? {rid: rest} : {id: rest};
        }
    }
    refuse(400, "The link '" + String(link) + "' does not name a document of this script's collection.");
}

function itemBody(body, options) {
    if (typeof body === 'string') {
        try { body = parse(body); } catch (e) { refuse(400, 'The document is a text that is no JSON: ' + e.message); }
    } else if (body !== undefined && body !== null) {
        body = parse(stringify(body) ?? 'null');
    }
    if (body === null || typeof body !== 'object' || isArray(body)) refuse(400, 'The document must be an object or the JSON text of one.');
    if (options !== undefined && body.id === undefined && options.disableAutomaticIdGeneration !== true) body.id = native('guid', '');
    return body;
}

// True: the operation was carried out, with success or not. Its outcome goes to the callback;
// without a callback an error is thrown.
function perform(operation, request, callback) {
    const text = native(operation, stringify({__proto__: null, ...request}));
    if (text === undefined) return false;
    const answer = parse(text);
    if (answer.error !== undefined) {
        if (callback === undefined) {
            const error = new Error(answer.error.number, answer.error.body);
            error.body = answer.error.body;
            throw error;
        }
        later(callback, [answer.error, undefined, answer.options]);
        return true;
    }
    if (callback !== undefined) later(callback, [undefined, answer.resource, answer.options]);
    return true;
}

const kWrite = {__proto__: null, indexAction: 'string', disableAutomaticIdGeneration: 'boolean'};
const kUpsert = {__proto__: null, ...kWrite, etag: 'string'};
const kReplace = {__proto__: null, indexAction: 'string', etag: 'string'};
const kDelete = {__proto__: null, etag: 'string'};
const kRead = {__proto__: null, ifNoneMatch: 'string'};
const kFeed = {__proto__: null, pageSize: 'number', continuation: 'string', enableScan: 'boolean', enableLowPrecisionOrderBy: 'boolean'};
const kRetired = {number: 400, body: 'Attachments are retired: keep their contents in documents or elsewhere.'};
function noAttachments(...args) {
    let callback;
    for (const one of args) if (typeof one === 'function') callback = one;
    if (callback === undefined) refuse(kRetired.number, kRetired.body);
    later(callback, [{...kRetired}, undefined, {statusCode: 400}]);
    return true;
}

const collection = {
    getSelfLink() { return settings.self + '/'; },
    getAltLink() { return settings.alt; },
    createDocument(link, body, options, callback) {
        collectionLink(link);
        ({options, callback} = takeOptions(options, callback, kWrite));
        return perform('create', {body: itemBody(body, options), options}, callback);
    },
    upsertDocument(link, body, options, callback) {
        collectionLink(link);
        ({options, callback} = takeOptions(options, callback, kUpsert));
        return perform('upsert', {body: itemBody(body, options), options}, callback);
    },
    readDocument(link, options, callback) {
        const item = itemLink(link);
        ({options, callback} = takeOptions(options, callback, kRead));
        return perform('read', {...item, options}, callback);
    },
    readDocuments(link, options, callback) {
        collectionLink(link);
        ({options, callback} = takeOptions(options, callback, kFeed));
        return perform('feed', {options}, callback);
    },
    queryDocuments(link, query, options, callback) {
        collectionLink(link);
        ({options, callback} = takeOptions(options, callback, kFeed));
        if (typeof query === 'string') query = {query};
        if (query === null || typeof query !== 'object' || typeof query.query !== 'string')
            refuse(400, 'The query must be a text, or an object with the text as query and its parameters.');
        return perform('query', {query: query.query, parameters: query.parameters, options}, callback);
    },
    replaceDocument(link, body, options, callback) {
        const item = itemLink(link);
        ({options, callback} = takeOptions(options, callback, kReplace));
        return perform('replace', {...item, body: itemBody(body), options}, callback);
    },
    deleteDocument(link, options, callback) {
        const item = itemLink(link);
        ({options, callback} = takeOptions(options, callback, kDelete));
        return perform('delete', {...item, options}, callback);
    },
    createAttachment: noAttachments, upsertAttachment: noAttachments, readAttachment: noAttachments,
    replaceAttachment: noAttachments, deleteAttachment: noAttachments, queryAttachments: noAttachments,
    readAttachments: noAttachments,
};

// Fluent queries: steps over the documents of the logical partition.
const kTypeOrder = {undefined: 0, boolean: 2, number: 3, string: 4, object: 5};
function compareKeys(a, b) {
    const typeOf = (v) => (v === null ? 1 : kTypeOrder[typeof v] ?? 6);
    const first = typeOf(a), second = typeOf(b);
    if (first !== second) return first - second;
    return a < b ? -1 : a > b ? 1 : 0;
}
const isDefined = (value) => value !== undefined;
function mustBeFunction(value, what) {
    if (typeof value !== 'function') refuse(400, what + ' must be a function.');
}
const steps = {
    filter(predicate) {
        mustBeFunction(predicate, 'The predicate of filter()');
        return {run: (values) => values.filter((value) => predicate(value) === true)};
    },
    map(transformation) {
        mustBeFunction(transformation, 'The transformation of map()');
        return {run: (values) => values.map((value) => transformation(value)).filter(isDefined)};
    },
    pluck(name) {
        if (typeof name !== 'string') refuse(400, 'The property of pluck() must be a text.');
        return {run: (values) => values.map((value) => value?.[name]).filter(isDefined)};
    },
    flatten(isShallow) { return {run: (values) => values.flat(isShallow === true ? 1 : Infinity)}; },
    sortBy(key) {
        mustBeFunction(key, 'The key of sortBy()');
        return {whole: true, run: (values) => values.map((value) => ({value, key: key(value)}))
            .sort((a, b) => compareKeys(a.key, b.key)).map((one) => one.value)};
    },
    sortByDescending(key) {
        mustBeFunction(key, 'The key of sortByDescending()');
        return {whole: true, run: (values) => values.map((value) => ({value, key: key(value)}))
            .sort((a, b) => compareKeys(b.key, a.key)).map((one) => one.value)};
    },
    unwind(inner, result) {
        const select = typeof inner === 'string' ? (value) => value?.[inner] : inner;
        mustBeFunction(select, 'The selector of unwind()');
        if (result !== undefined) mustBeFunction(result, 'The result selector of unwind()');
        const make = result ?? ((value, element) => [value, element]);
        return {run: (values) => values.flatMap((value) => {
            const elements = select(value);
            return isArray(elements) ? elements.map((element) => make(value, element)) : [];
        })};
    },
};
function gather(chain, options, callback) {
    ({options, callback} = takeOptions(options, callback, kFeed));
    if (callback === undefined && isPreTrigger) refuse(400, 'A query in a pre-trigger needs a callback: there is no response yet.');
    const whole = chain.some((step) => step.whole);
    const wanted = options.pageSize === undefined ? 100 : options.pageSize === -1 ? Infinity : options.pageSize;
    let continuation = options.continuation, values = [], documents = [], reply;
    do {
        const pageSize = whole || wanted === Infinity ? 1000 : wanted - values.length;
        const text = native('feed', stringify({__proto__: null, options: {__proto__: null, pageSize, continuation}}));
        if (text === undefined) return {isAccepted: false};
        reply = parse(text);
        if (reply.error !== undefined) {
            if (callback === undefined) refuse(reply.error.number, reply.error.body);
            later(callback, [reply.error, undefined, reply.options]);
            return {isAccepted: true};
        }
        continuation = reply.options.continuation;
        if (whole) { documents.push(...reply.resource); continue; }
        let page = reply.resource;
        for (const step of chain) page = step.run(page);
        for (const value of page) values[values.length] = value;
    } while (continuation !== undefined && (whole || values.length < wanted));
    if (whole) {
        values = documents;
        for (const step of chain) values = step.run(values);
    }
    if (callback === undefined) setResponseBody(values);
    else later(callback, [undefined, values, reply.options]);
    return {isAccepted: true};
}
function chainOf(chain) {
    const link = {value(options, callback) { return gather(chain, options, callback); }};
    for (const name of keys(steps)) link[name] = (...args) => chainOf([...chain, steps[name](...args)]);
    return freeze(link);
}
collection.chain = () => chainOf([]);
collection.value = (options, callback) => gather([], options, callback);
for (const name of ['filter', 'map', 'pluck', 'sortBy', 'sortByDescending'])
    collection[name] = (first, options, callback) => gather([steps[name](first)], options, callback);
collection.flatten = (isShallow, options, callback) => {
    if (typeof isShallow !== 'boolean' && isShallow !== undefined) { callback = options; options = isShallow; isShallow = false; }
    return gather([steps.flatten(isShallow)], options, callback);
};
collection.unwind = (inner, result, options, callback) => {
    // With two functions the second makes the results; a callback comes behind it.
    if (result !== undefined && typeof result !== 'function') { callback = options; options = result; result = undefined; }
    return gather([steps.unwind(inner, result)], options, callback);
};
function spatial(name) {
    return (...args) => {
        const text = native('evaluate', stringify({__proto__: null, function: name, arguments: args}));
        if (text === undefined) refuse(408, 'The script has used up its time.');
        const answer = parse(text);
        if (answer.error !== undefined) refuse(answer.error.number, answer.error.body);
        return answer.resource;
    };
}
collection.spatial = freeze({distance: spatial('ST_DISTANCE'), intersects: spatial('ST_INTERSECTS'), within: spatial('ST_WITHIN'),
    isValid: spatial('ST_ISVALID'), isValidDetailed: spatial('ST_ISVALIDDETAILED')});
freeze(collection);

// Request and response. Names are those of headers, or Body.
let requestBody = settings.body, requestBodySet = false;
let responseBody = settings.response, responseSet = false;
function setResponseBody(body) { responseBody = body; responseSet = true; }
function isBody(name) {
    if (typeof name !== 'string') refuse(400, 'The name of a value must be a text.');
    return name.toLowerCase() === 'body';
}
function valueOf(name) { return settings.values[name.toLowerCase()]; }
function refuseName(name) {
    if (valueOf(name) !== undefined) refuse(403, "The value '" + name + "' cannot be changed.");
    refuse(400, "There is no value '" + name + "'.");
}
function appended(before, value) {
    if (before === undefined || before === null) return value;
    if (isArray(before)) return [...before, value];
    return (typeof before === 'string' ? before : stringify(before)) + (typeof value === 'string' ? value : stringify(value));
}
function setRequestBody(body) {
    if (!isPreTrigger) refuse(403, "The request's body can be changed by a pre-trigger only.");
    if (settings.fixedBody) refuse(400, "The body of this request cannot be changed.");
    requestBody = body;
    requestBodySet = true;
}
const request = {
    getBody() { return requestBody; },
    setBody(body) { setRequestBody(body); },
    getValue(name) { return isBody(name) ? requestBody : valueOf(name); },
    setValue(name, value) { if (!isBody(name)) refuseName(name); setRequestBody(value); },
    appendValue(name, value) { if (!isBody(name)) refuseName(name); setRequestBody(appended(requestBody, value)); },
    getOperationType() { return settings.operation; },
};
freeze(request);
const response = {
    getBody() { return responseBody; },
    setBody(body) { setResponseBody(body); },
    appendBody(body) { setResponseBody(appended(responseBody, body)); },
    getValue(name) { return isBody(name) ? responseBody : undefined; },
    setValue(name, value) { if (!isBody(name)) refuseName(name); setResponseBody(value); },
    appendValue(name, value) { if (!isBody(name)) refuseName(name); setResponseBody(appended(responseBody, value)); },
};
if (isPostTrigger) {
    response.getMaxResourceQuota = () => settings.quota;
    response.getResourceQuotaCurrentUsage = () => settings.usage;
}
freeze(response);

const context = {
    getCollection() { return collection; },
    getRequest() { return request; },
    abort(error) { native('abort', stringify(describe(error))); },
};
if (!isPreTrigger) context.getResponse = () => response;
freeze(context);

const shown = create(collection, {request: {value: request, enumerable: true}});
if (!isPreTrigger) defineProperty(shown, 'response', {value: response, enumerable: true});
const kErrorCodes = {BadRequest: 400, Forbidden: 403, NotFound: 404, Conflict: 409, PreconditionFailed: 412,
    RequestEntityTooLarge: 413, RetryWith: 449, InternalServerError: 500};
function log(format, ...values) {
    if (!settings.logging) return;
    let at = 0;
    const text = String(format).replace(/%[s%]/g, (mark) => (mark === '%%' ? '%' : at < values.length ? String(values[at++]) : mark));
    native('log', text);
}
const globals = {getContext: () => context, __: freeze(shown), ErrorCodes: freeze(kErrorCodes), console: freeze({log})};
for (const name of keys(globals)) defineProperty(globalThis, name, {value: globals[name], writable: false, enumerable: false, configurable: false});

const kShownMax = 4096;
function describe(thrown) {
    const told = {__proto__: null, text: 'an exception that cannot be shown', stack: '', number: 0};
    try {
        if (thrown instanceof Error) {
            told.text = String(thrown);
            told.stack = String(thrown.stack).split('\n').filter((line) => line !== '' && !line.includes('@server:')).join('\n');
        } else {
            told.text = typeof thrown === 'object' && thrown !== null ? stringify(thrown) ?? '[object]' : String(thrown);
        }
        if (typeof thrown === 'object' && thrown !== null && typeof thrown.number === 'number') told.number = thrown.number;
    } catch { }
    if (typeof told.text !== 'string') told.text = 'an exception that cannot be shown';
    told.text = told.text.slice(0, kShownMax);
    told.stack = told.stack.slice(0, kShownMax);
    return told;
}

return {
    start(script, argumentsText) {
        if (script === undefined)
            for (const name of ownKeys(globalThis))
                if (!hasGlobal(name) && keys(globals).indexOf(name) < 0 && typeof globalThis[name] === 'function') { script = globalThis[name]; break; }
        if (typeof script !== 'function') refuse(400, 'The script has no function.');
        watch(apply(script, undefined, parse(argumentsText)));
    },
    // Calls the next callback; false: there was none.
    turn() {
        if (failure !== undefined) throw failure.thrown;
        if (next === waiting.length) { waiting = []; next = 0; return false; }
        const {callback, values} = waiting[next];
        waiting[next++] = undefined;
        watch(apply(callback, undefined, values));
        return true;
    },
    finish() {
        return stringify({
            __proto__: null,
            request: requestBodySet ? stringify(requestBody) ?? null : undefined,
            response: responseSet ? stringify(responseBody) : undefined,
        });
    },
    describe(thrown) { return stringify(describe(thrown)); },
};
}))js";

}  // namespace orrery::script::detail
