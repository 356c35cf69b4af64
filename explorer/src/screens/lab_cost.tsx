import { useState } from 'react';
import { bytes, count, plural } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { session } from '../session';
import { Button, Check, ErrorNote, Field, Note, Segmented, Spinner, TextField } from '../ui/controls';
import { computeCost, readMeasuredCost, type CostForm, type Costs } from '../wire/lab';
import { Bars } from './lab_charts';
import { dollars } from './lab_findings';

export const NAMES: Record<string, string> = { manual: 'Manual', autoscale: 'Autoscale', serverless: 'Serverless', reserved1y: 'Reserved 1 y', reserved3y: 'Reserved 3 y' };

export function CostTable({ costs }: { costs: Costs }) {
  const possible = costs.options.filter((o) => o.possible);
  return (
    <>
      <p><b>{NAMES[costs.cheapest]}</b> is the cheapest{costs.savesMicroDollars > 0 && <>: <b>{dollars(costs.savesMicroDollars)}</b> a month less than the dearest</>}.</p>
      <Bars title="Price of a month" unit="$" labels={possible.map((o) => NAMES[o.name] ?? o.name)}
        series={[{ name: 'throughput', values: possible.map((o) => o.throughputMicroDollars / 1e6) }, { name: 'storage and backup', values: possible.map((o) => (o.storageMicroDollars + o.backupMicroDollars) / 1e6) }]} />
      <div style={{ overflow: 'auto' }} tabIndex={0} role="region" aria-label="Prices as a table">
        <table className="plain num">
          <thead><tr><th scope="col">Mode</th><th scope="col">RU/s</th><th scope="col">Throughput</th><th scope="col">Storage</th><th scope="col">Backup</th><th scope="col">Month</th></tr></thead>
          <tbody>
            {costs.options.map((o) => (
              <tr key={o.name}>
                <th scope="row">{NAMES[o.name]} {o.name === costs.cheapest && <span className="badge good">cheapest</span>}</th>
                {o.possible ? <><td>{o.throughputRu ? count(o.throughputRu) : '—'}</td><td>{dollars(o.throughputMicroDollars)}</td><td>{dollars(o.storageMicroDollars)}</td><td>{dollars(o.backupMicroDollars)}</td><td><b>{dollars(o.totalMicroDollars)}</b></td></>
                  : <td colSpan={5} className="muted">not possible: {o.whyNot}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

const FORM: CostForm = { peakRuPerSecond: 1000, ruPerMonth: 500_000_000, hourlyPeakPercent: 50, storageMb: 10240, regions: 1, multiRegionWrites: false, zoneRedundant: false, freeTier: false, backup: 'periodic' };

export function LabCost({ db, coll }: { db: string; coll: string }) {
  const client = useStore(session)!;
  const [from, setFrom] = useState<'measured' | 'form'>('measured');
  const [form, setForm] = useState<CostForm>(FORM);
  const [asked, setAsked] = useState<CostForm | null>(null);
  const measured = useLoaded((signal) => readMeasuredCost(client, db, coll, signal), [db, coll]);
  const computed = useLoaded(() => (asked ? computeCost(client, asked) : Promise.resolve(null)), [asked]);
  const number = (label: string, name: 'peakRuPerSecond' | 'ruPerMonth' | 'hourlyPeakPercent' | 'storageMb' | 'regions', min: number, hint?: string) => (
    <TextField label={label} type="number" min={min} value={Number.isNaN(form[name]) ? '' : form[name]} hint={hint} problem={Number.isFinite(form[name]) && form[name] >= min ? null : `A number from ${min}.`}
      onChange={(e) => setForm({ ...form, [name]: e.target.valueAsNumber })} />
  );
  const costs = measured.data?.costs;
  return (
    <section className="card section" aria-labelledby="lab-cost">
      <div className="head"><h2 id="lab-cost" className="grow">Cost of a month</h2>
        <Segmented small label="Basis" value={from} onChange={setFrom} options={[{ value: 'measured', label: 'Measured traffic' }, { value: 'form', label: 'A form' }]} /></div>
      {from === 'measured' && (
        <>
          {costs && (
            <>
              <div className="facts num"><span>Peak <b>{count(costs.input.peakRuPerSecond)} RU/s</b></span><span><b>{count(costs.input.ruPerMonth)} RU</b> a month at this pace</span><span><b>{bytes(costs.input.storageMb * 1048576)}</b> stored</span><span><b>{plural(costs.input.hourlyPeaks.length, 'hour')}</b> seen</span></div>
              <CostTable costs={costs} />
            </>
          )}
          {!measured.data && measured.error === null && <Spinner />}
          {measured.data && !measured.data.measured && <Note>No traffic has been recorded yet. Send requests, or fill in the form.</Note>}
          {measured.error !== null && <ErrorNote error={measured.error} retry={measured.reload} />}
        </>
      )}
      {from === 'form' && (
        <>
          <div className="labform">
            {number('Peak RU/s', 'peakRuPerSecond', 0)}
            {number('RU in a month', 'ruPerMonth', 0)}
            {number('Mean of the hours’ peaks, % of the peak', 'hourlyPeakPercent', 0, 'Autoscale bills each hour at its peak.')}
            {number('Storage, MB', 'storageMb', 0)}
            {number('Regions', 'regions', 1)}
            <Field label="Backup">{(props) => (
              <select className="select" {...props} value={form.backup} onChange={(e) => setForm({ ...form, backup: e.target.value as CostForm['backup'] })}>
                <option value="periodic">Periodic</option><option value="continuous7">Continuous, 7 days</option><option value="continuous30">Continuous, 30 days</option>
              </select>)}</Field>
          </div>
          <div className="row wrap">
            <Check label="Writes in all regions" checked={form.multiRegionWrites} onChange={(multiRegionWrites) => setForm({ ...form, multiRegionWrites })} />
            <Check label="Zone redundant" checked={form.zoneRedundant} onChange={(zoneRedundant) => setForm({ ...form, zoneRedundant })} />
            <Check label="Free tier" checked={form.freeTier} onChange={(freeTier) => setForm({ ...form, freeTier })} />
            <Button look="primary" busy={computed.loading && asked !== null} onClick={() => setAsked({ ...form })}>Compare</Button>
          </div>
          {computed.error !== null && <ErrorNote error={computed.error} />}
          {computed.data && <CostTable costs={computed.data} />}
        </>
      )}
      <p className="muted small">US list prices of the service; a month has 730 hours.</p>
    </section>
  );
}
