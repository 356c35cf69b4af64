import { bytes, count, plural } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { session } from '../session';
import { Empty, ErrorNote, Spinner } from '../ui/controls';
import { readRelations, type Relation } from '../wire/lab';
import { Bars } from './lab_charts';
import { dollars } from './lab_findings';

const ADVICE: Record<Relation['advice'], string> = { embed: 'Embed', reference: 'Reference', mixed: 'Embed a summary, reference the rest' };

export function Relations({ db, coll }: { db: string; coll: string }) {
  const client = useStore(session)!;
  const found = useLoaded((signal) => readRelations(client, db, coll, signal), [db, coll]);
  if (!found.data) return found.error !== null ? <ErrorNote error={found.error} retry={found.reload} /> : <Spinner />;
  const { samples, relations } = found.data;
  if (relations.length === 0)
    return (
      <div className="card"><Empty icon="container" title={samples === 0 ? 'No items have been seen yet' : 'No relations have been seen'}>
        <p>{samples === 0 ? 'The Lab looks at samples of items as they are written. Write some, and come back.' : `${plural(samples, 'sampled item')} hold no arrays of objects, and no property leads to another container that is read afterwards.`}</p>
      </Empty></div>
    );
  return (
    <>
      <p className="muted">From {plural(samples, 'sampled item')} and the requests that were seen.</p>
      {relations.map((one) => (
        <section key={one.path} className="card section" aria-label={one.path}>
          <div className="head"><h2 className="grow mono">{one.path}</h2><span className="badge">{one.now}{one.target && ` in ${one.target}`}</span>
            <span className={`badge ${(one.advice === 'embed') === (one.now === 'embedded') ? 'good' : 'warn'}`}>{ADVICE[one.advice]}</span></div>
          <p>{one.why}</p>
          <div className="labcols">
            <figure style={{ margin: 0 }}><figcaption className="label" style={{ marginBottom: 6 }}>Request Units of a month</figcaption><Bars title="Request Units of a month" unit="RU" labels={['embedded', 'referenced']} series={[{ name: 'RU', values: [one.embeddedRuPerMonth, one.referencedRuPerMonth] }]} /></figure>
            <table className="plain num small"><caption className="sr">What it rests on</caption><tbody>
              {one.now === 'embedded' && <tr><th scope="row">Elements, median and 99 %</th><td>{count(one.elementsP50)} · {count(one.elementsP99)}</td></tr>}
              <tr><th scope="row">One element, the rest</th><td>{bytes(one.elementBytes)} · {bytes(one.restBytes)}</td></tr>
              <tr><th scope="row">Reads</th><td>{count(one.reads)}</td></tr>
              <tr><th scope="row">Updates, of them here</th><td>{count(one.updates)} · {count(one.relationUpdates)}</td></tr>
              {one.savedMicroDollarsPerMonth > 0 && <tr><th scope="row">The advice saves</th><td><b>{dollars(one.savedMicroDollarsPerMonth)}</b> a month</td></tr>}
            </tbody></table>
          </div>
        </section>
      ))}
    </>
  );
}
