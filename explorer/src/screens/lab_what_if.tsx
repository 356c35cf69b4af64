import { useEffect, useState } from 'react';
import { bytes, count, milliseconds, plural } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { session } from '../session';
import { Button, Check, Empty, ErrorNote, Field, Note, Progress, Spinner, TextField } from '../ui/controls';
import { cancelWhatIf, readCandidates, readDemos, readWhatIf, startWhatIf, type Candidate, type Outcome, type WhatIf } from '../wire/lab';
import { Bars } from './lab_charts';
import { NAMES } from './lab_cost';
import { dollars } from './lab_findings';

const keyName = (paths: string[]): string => paths.join(' + ');
const skew = (values: number[]): number => {
  const sum = values.reduce((a, b) => a + b, 0);
  return sum > 0 ? (Math.max(...values) * values.length) / sum : 1;
};

type Source = 'recorded' | 'upload' | `demo:${string}`;

export function WhatIfPanel({ db, coll }: { db: string; coll: string }) {
  const client = useStore(session)!;
  const demos = useLoaded((signal) => readDemos(client, signal), []);
  const proposals = useLoaded((signal) => readCandidates(client, db, coll, signal), [db, coll]);
  const [source, setSource] = useState<Source>('recorded');
  const [upload, setUpload] = useState<{ name: string; workload: unknown } | null>(null);
  const [keys, setKeys] = useState<string[]>([]);
  const [own, setOwn] = useState('');
  const [scale, setScale] = useState({ data: 1, traffic: 1, throughput: 10000 });
  const [error, setError] = useState<unknown>(null);
  const [run, setRun] = useState<WhatIf | null>(null);
  const [id, setId] = useState<number | null>(null);
  const demo = demos.data?.find((d) => `demo:${d.name}` === source);
  const nothingRecorded = proposals.data !== null && !proposals.data.recorded;
  const offered: { paths: string[]; why?: string; score?: number }[] = demo ? demo.candidates.map((paths) => ({ paths }))
    : source === 'recorded' ? (proposals.data?.candidates ?? []).map((c: Candidate) => ({ paths: c.keyPaths, why: c.why, score: c.score })) : [];
  useEffect(() => {
    setKeys(offered.slice(0, 4).map((c) => JSON.stringify(c.paths)));
    if (demo) setScale({ data: 1, traffic: 1, throughput: demo.throughput });
  }, [source, proposals.data, demos.data]);
  useEffect(() => {
    if (id === null) return;
    const control = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        const state = await readWhatIf(client, id, control.signal);
        setRun(state);
        if (state.state === 'running' || state.state === 'waiting') timer = setTimeout(() => void ask(), 400);
      } catch (problem) {
        if (!control.signal.aborted) setError(problem);
      }
    };
    void ask();
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [id]);
  const running = run !== null && (run.state === 'running' || run.state === 'waiting');
  const chosen = [...keys.map((k) => JSON.parse(k) as string[]), ...own.split(',').map((text) => text.split('+').map((p) => p.trim()).filter(Boolean)).filter((paths) => paths.length > 0)];
  const badOwn = own.trim() !== '' && own.split(/[,+]/).some((p) => !/^\/[^/]/.test(p.trim()));
  const ready = !running && !badOwn && (source !== 'recorded' || !nothingRecorded) && (source !== 'upload' || upload !== null) && chosen.length <= 8 && (chosen.length > 0 || source === 'upload')
    && scale.data > 0 && scale.traffic > 0 && scale.throughput >= 400;
  const start = async () => {
    setError(null);
    setRun(null);
    try {
      const from = demo ? { demo: demo.name } : source === 'upload' ? { workload: upload!.workload } : { database: db, container: coll };
      setId((await startWhatIf(client, { ...from, scale, ...(chosen.length > 0 ? { candidates: chosen } : {}) })).id);
    } catch (problem) {
      setError(problem);
    }
  };
  const read = async (file: File | undefined) => {
    if (!file) return;
    setError(null);
    try {
      setUpload({ name: file.name, workload: JSON.parse(await file.text()) as unknown });
    } catch {
      setUpload(null);
      setError(new Error(`${file.name} is no JSON file.`));
    }
  };
  const figure = (label: string, name: 'data' | 'traffic' | 'throughput', min: number, step: number) => (
    <TextField label={label} type="number" min={min} step={step} value={Number.isNaN(scale[name]) ? '' : scale[name]} problem={scale[name] >= min ? null : `At least ${min}.`} onChange={(e) => setScale({ ...scale, [name]: e.target.valueAsNumber })} />
  );
  return (
    <>
      <section className="card section" aria-labelledby="lab-try">
        <div className="head"><h2 id="lab-try">Try partition keys</h2></div>
        <p className="muted">The requests are made again on a copy of the items in an engine of its own, under each key, in simulated time. Nothing here touches the container.</p>
        <div className="labform workload">
          <Field label="Workload">{(props) => (
            <select className="select" style={{ width: '100%' }} {...props} value={source} onChange={(e) => setSource(e.target.value as Source)}>
              <option value="recorded">Requests to {coll}, as recorded</option>
              {demos.data?.map((d) => <option key={d.name} value={`demo:${d.name}`}>Demo: {d.title}</option>)}
              <option value="upload">A file</option>
            </select>)}</Field>
          {figure('Data, times', 'data', 0.001, 1)}
          {figure('Traffic, times', 'traffic', 0.001, 1)}
          {figure('RU/s', 'throughput', 400, 100)}
        </div>
        {demo && <p>{demo.text}</p>}
        {source === 'upload' && <Field label="Workload file (JSON)" hint={upload ? `${upload.name} is ready.` : 'Items and operations; docs/guide/modelling-with-the-lab.md shows the form.'}>{(props) => <input type="file" accept=".json,application/json" {...props} onChange={(e) => void read(e.target.files?.[0])} />}</Field>}
        {source === 'recorded' && nothingRecorded && <Note>No requests to this container have been recorded yet. Send some, or take a demo.</Note>}
        {source === 'recorded' && proposals.error !== null && <ErrorNote error={proposals.error} retry={proposals.reload} />}
        {source === 'recorded' && proposals.loading && !proposals.data && <Spinner label="Looking for keys" />}
        {offered.length > 0 && (
          <fieldset className="col labkeys">
            <legend className="label">Keys to compare</legend>
            {offered.map((c) => {
              const name = JSON.stringify(c.paths);
              return <div key={name} className="row wrap" style={{ gap: '2px 10px' }}><Check label={<span className="mono">{keyName(c.paths)}</span>} checked={keys.includes(name)} onChange={(on) => setKeys(on ? [...keys, name] : keys.filter((k) => k !== name))} />
                {c.score !== undefined && <span className="badge" title="From 0 to 100, before a run">{Math.round(c.score * 100)}</span>}{c.why && <span className="muted small">{c.why}</span>}</div>;
            })}
          </fieldset>
        )}
        <TextField label="Other keys" mono placeholder="/tenantId + /userId, /city" value={own} problem={badOwn ? 'Paths like /a, levels joined by +, keys separated by commas.' : null} onChange={(e) => setOwn(e.target.value)} />
        <div className="row wrap">
          <Button look="primary" icon="play" disabled={!ready} busy={running} onClick={() => void start()}>Run</Button>
          {running && <Button onClick={() => void cancelWhatIf(client, run.id).catch(setError)}>Cancel</Button>}
          {run && <span className="muted small">{run.state === 'done' ? `Done in ${milliseconds(run.elapsedMs)}.` : run.state === 'cancelled' ? 'Cancelled.' : running ? `${run.outcomes.length} of ${run.candidates.length} keys are done` : ''} {run.workload.note}</span>}
        </div>
        {running && <Progress value={run.progress * 100} label="Progress of the run" />}
        {error !== null && <ErrorNote error={error} />}
        {run?.state === 'failed' && <ErrorNote error={new Error(run.error)} />}
      </section>
      {run && run.outcomes.length > 0 ? <Outcomes run={run} /> : !running && (
        <div className="card"><Empty icon="search" title="No run yet"><p>Choose a workload and keys, and see side by side how data and load spread, what is refused, what it costs.</p></Empty></div>
      )}
    </>
  );
}

function Outcomes({ run }: { run: WhatIf }) {
  const ran = run.outcomes.filter((o) => o.ran);
  const names = ran.map((o) => keyName(o.keyPaths));
  const cheapest = (o: Outcome) => o.cost!.options.find((c) => c.name === o.cost!.cheapest)!;
  const best = ran.length > 1 ? ran.reduce((a, b) => (cheapest(a).totalMicroDollars * (1 + a.givenUp / Math.max(1, a.operations)) <= cheapest(b).totalMicroDollars * (1 + b.givenUp / Math.max(1, b.operations)) ? a : b)) : null;
  const chart = (title: string, unit: string, value: (o: Outcome) => number) => (
    <figure style={{ margin: 0 }}><figcaption className="label" style={{ marginBottom: 6 }}>{title}</figcaption>
      <Bars labels={names} series={[{ name: title, values: ran.map(value) }]} unit={unit} title={title} /></figure>
  );
  const rows: { label: string; value: (o: Outcome) => React.ReactNode }[] = [
    { label: 'Physical partitions', value: (o) => count(o.partitions) },
    { label: 'Key values in the copy', value: (o) => count(o.logicalPartitions) },
    { label: 'Largest key value', value: (o) => <>{bytes(o.largestKeyBytes)}{o.largestKeyBytes > 20 * 2 ** 30 && <> <span className="badge bad">above 20 GB</span></>}</> },
    { label: 'Storage, fullest partition', value: (o) => `${skew(o.partitionBytes).toFixed(1)} × mean` },
    { label: 'Load, busiest partition', value: (o) => <>{skew(o.partitionRu).toFixed(1)} × mean{skew(o.partitionRu) > 2 && o.partitions > 1 && <> <span className="badge warn">hot</span></>}</> },
    { label: '429 answers', value: (o) => (o.refused > 0 ? <span className="badge bad">{count(Math.round(o.refused))}</span> : '0') },
    { label: 'Given up after 9 retries', value: (o) => count(Math.round(o.givenUp)) },
    { label: 'Waiting for throughput, p50 · p99', value: (o) => `${milliseconds(o.waitP50Ms)} · ${milliseconds(o.waitP99Ms)}` },
    { label: 'Execution here, p50 · p99', value: (o) => `${milliseconds(o.executeP50Us / 1000)} · ${milliseconds(o.executeP99Us / 1000)}` },
    { label: 'Partitions asked per query', value: (o) => o.rangesPerQuery.toFixed(1) },
    { label: 'RU per operation', value: (o) => o.ruPerOperation.toFixed(2) },
    { label: 'Cheapest month', value: (o) => <><b>{dollars(cheapest(o).totalMicroDollars)}</b> <span className="muted small">{NAMES[cheapest(o).name]}</span></> },
    { label: 'Items that collide on id', value: (o) => (o.idConflicts > 0 ? <span className="badge warn">{count(o.idConflicts)}</span> : '0') },
  ];
  return (
    <section className="card section" aria-labelledby="lab-outcomes">
      <div className="head"><h2 id="lab-outcomes" className="grow">Side by side</h2><span className="muted small num">{plural(Math.round(ran[0]?.operations ?? 0), 'operation')} in {Math.round(ran[0]?.simulatedSeconds ?? 0)} simulated seconds</span></div>
      <div style={{ overflow: 'auto' }} tabIndex={0} role="region" aria-label="Outcomes as a table">
        <table className="plain num labtable">
          <thead><tr><th scope="col"><span className="sr">Figure</span></th>{ran.map((o) => <th key={keyName(o.keyPaths)} scope="col" className="mono">{keyName(o.keyPaths)} {o === best && <span className="badge good">best</span>}</th>)}</tr></thead>
          <tbody>{rows.map((row) => <tr key={row.label}><th scope="row">{row.label}</th>{ran.map((o) => <td key={keyName(o.keyPaths)}>{row.value(o)}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {run.outcomes.filter((o) => !o.ran).map((o) => <Note key={keyName(o.keyPaths)} kind="bad"><b className="mono">{keyName(o.keyPaths)}</b> could not be tried: {o.whyNot}</Note>)}
      {ran.filter((o) => o.failed > 0).map((o) => <Note key={keyName(o.keyPaths)} kind="warn"><b className="mono">{keyName(o.keyPaths)}</b>: {plural(Math.round(o.failed), 'operation')} failed, for instance: {o.failure}</Note>)}
      <div className="labcols">
        {chart('429 answers', '', (o) => o.refused)}
        {chart('Wait for throughput, p99', 'ms', (o) => o.waitP99Ms)}
        {chart('Partitions asked per query', '', (o) => o.rangesPerQuery)}
        {chart('Cheapest month', '$', (o) => cheapest(o).totalMicroDollars / 1e6)}
      </div>
      <div className="labcols">
        <Spread title="Load by physical partition" unit="RU" outcomes={ran} value={(o) => o.partitionRu} />
        <Spread title="Storage by physical partition" unit="bytes" outcomes={ran} value={(o) => o.partitionBytes} />
      </div>
    </section>
  );
}

/// One row of cells per key: the darker, the more.
function Spread({ title, unit, outcomes, value }: { title: string; unit: string; outcomes: Outcome[]; value: (o: Outcome) => number[] }) {
  return (
    <figure style={{ margin: 0, minWidth: 0 }}><figcaption className="label" style={{ marginBottom: 6 }}>{title}</figcaption>
      {outcomes.map((o) => {
        const values = value(o);
        const most = Math.max(1e-9, ...outcomes.flatMap(value));
        return (
          <div key={keyName(o.keyPaths)} className="labspread" role="img" aria-label={`${keyName(o.keyPaths)}: ${values.map((v) => (unit === 'bytes' ? bytes(v) : `${count(Math.round(v))} RU`)).join(', ')}`}>
            <span className="mono small ellipsis" title={keyName(o.keyPaths)}>{keyName(o.keyPaths)}</span>
            <span className="cells">{values.map((v, i) => <i key={i} title={`Partition ${i}: ${unit === 'bytes' ? bytes(v) : `${count(Math.round(v))} RU`}`} style={{ height: `${Math.max(4, (100 * v) / most)}%` }} />)}</span>
          </div>
        );
      })}
    </figure>
  );
}
