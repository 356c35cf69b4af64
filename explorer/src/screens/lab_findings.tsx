import { count, plural } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { session } from '../session';
import { Button, Empty, ErrorNote, Spinner } from '../ui/controls';
import { Menu } from '../ui/menu';
import { toast, toastError } from '../ui/toast';
import { readReport, readReportText, type Finding, type Severity } from '../wire/lab';
import { saveFile } from './item_editor';
import { amount, FindingChart } from './lab_charts';

const LOOK: Record<Severity, string> = { critical: 'bad', high: 'bad', medium: 'warn', low: '', info: '' };

export const dollars = (micro: number): string => (micro / 1e6).toLocaleString('en-US', { style: 'currency', currency: 'USD' });

const words = (name: string): string => {
  const text = name.replace(/([A-Z])/g, (c) => ` ${c.toLowerCase()}`).replace(/\b(ru|gb)\b/g, (unit) => unit.toUpperCase());
  return text[0]!.toUpperCase() + text.slice(1);
};

function duration(seconds: number): string {
  if (seconds < 120) return plural(Math.round(seconds), 'second');
  if (seconds < 7200) return plural(Math.round(seconds / 60), 'minute');
  if (seconds < 172800) return plural(Math.round(seconds / 3600), 'hour');
  return plural(Math.round(seconds / 86400), 'day');
}

export function Findings({ db, coll }: { db: string; coll: string }) {
  const client = useStore(session)!;
  const report = useLoaded((signal) => readReport(client, db, coll, signal), [db, coll]);
  if (!report.data) return report.error !== null ? <ErrorNote error={report.error} retry={report.reload} /> : <Spinner label="Looking at the container" />;
  const container = report.data.containers[0]!;
  const download = async (format: 'md' | 'html' | 'json') => {
    try {
      saveFile(`${coll}-design.${format}`, [await readReportText(client, db, coll, format)], format === 'json' ? 'application/json' : 'text/plain');
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <>
      <div className="row wrap">
        <div className="facts grow num" style={{ flexBasis: 280 }}>
          <span>Watched for <b>{duration(container.observedSeconds)}</b></span>
          <span><b>{plural(container.findings.length, 'finding')}</b></span>
          <span><b>{container.quiet.length}</b> rules found nothing wrong</span>
          <span><b>{container.noEvidence.length}</b> lack evidence</span>
          {report.data.savedMicroDollarsPerMonth >= 10_000 && <span>worth up to <b>{dollars(report.data.savedMicroDollarsPerMonth)}</b> a month</span>}
        </div>
        <Button icon="refresh" busy={report.loading} onClick={report.reload}>Look again</Button>
        <Menu label="Download the report" className="btn" trigger={<>Download</>} entries={[
          { label: 'As a web page', run: () => void download('html') },
          { label: 'As Markdown', run: () => void download('md') },
          { label: 'As JSON, with all numbers', run: () => void download('json') },
        ]} />
      </div>
      {container.findings.length === 0 && (
        <div className="card"><Empty icon="check" title="Nothing found so far">
          <p>{container.noEvidence.length > 0 ? 'Some rules have not seen enough to judge; they are listed below. Findings appear as requests come in.' : 'All 37 rules had what they need, and none of them applies.'}</p>
        </Empty></div>
      )}
      {container.findings.map((finding, i) => <FindingCard key={`${finding.rule} ${i}`} finding={finding} />)}
      {container.noEvidence.length > 0 && (
        <details className="card pad">
          <summary><b>Not judged for lack of evidence</b> <span className="muted">({container.noEvidence.length})</span></summary>
          <ul className="col" style={{ gap: 4, marginTop: 10 }}>
            {container.noEvidence.map((one) => <li key={one.rule} className="small"><b>{one.rule}. {one.title}</b> <span className="muted">needs {one.needs}</span></li>)}
          </ul>
        </details>
      )}
    </>
  );
}

function FindingCard({ finding }: { finding: Finding }) {
  const { saving, change } = finding;
  const code = change.json === undefined ? null : JSON.stringify(change.json, null, 2);
  const copy = (text: string) => void navigator.clipboard.writeText(text).then(() => toast('Copied.'), () => toast('The browser does not allow copying here.', { bad: true }));
  return (
    <section className="card section finding" aria-label={`${finding.title}: ${finding.severity}`}>
      <div className="head">
        <span className={`badge ${LOOK[finding.severity]}`}>{finding.severity}</span>
        <h2 className="grow">{finding.title}</h2>
        <span className="muted small">rule {finding.rule}</span>
      </div>
      <p style={{ overflowWrap: 'anywhere' }}>{finding.summary}</p>
      <div className="labcols">
        {finding.chart && <FindingChart chart={finding.chart} />}
        <table className="plain num small"><caption className="sr">Evidence</caption><tbody>
          {finding.evidence.map((fact) => <tr key={fact.name}><th scope="row">{words(fact.name)}</th><td style={{ textAlign: 'right' }}>{amount(fact.value, fact.unit || (/share/i.test(fact.name) ? 'share' : ''))}</td></tr>)}
        </tbody></table>
      </div>
      <div className="col" style={{ gap: 6 }}>
        <span className="label">What to change</span>
        <p>{change.text}</p>
        {code && <div className="labcode"><pre tabIndex={0} aria-label="Definition to paste">{code}</pre><Button small look="quiet" icon="copy" aria-label="Copy the definition" onClick={() => copy(code)} /></div>}
        {change.query && <div className="labcode"><pre tabIndex={0} aria-label="Query to use instead">{change.query}</pre><Button small look="quiet" icon="copy" aria-label="Copy the query" onClick={() => copy(change.query!)} /></div>}
      </div>
      {(saving.microDollarsPerMonth > 0 || saving.ruPerMonth > 0) ? (
        <div>
          <p className="num row wrap" style={{ gap: '2px 8px' }}><span className="badge good">saves</span>{saving.microDollarsPerMonth > 0 && <b>{saving.microDollarsPerMonth < 10_000 ? 'less than a cent' : dollars(saving.microDollarsPerMonth)} a month</b>}{saving.ruPerMonth > 0 && <span className="muted">{count(saving.ruPerMonth)} RU a month</span>}</p>
          {saving.note && <p className="muted small" style={{ marginTop: 4 }}>{saving.note.replaceAll(' x ', ' × ')}</p>}
        </div>
      ) : saving.note && <p className="muted small">{saving.note}</p>}
    </section>
  );
}
