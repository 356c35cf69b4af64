import { useId, type ButtonHTMLAttributes, type InputHTMLAttributes, type ReactNode, type Ref } from 'react';
import { describe } from '../wire/error';
import { Icon, type IconName } from './icons';

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  icon?: IconName;
  look?: 'primary' | 'quiet' | 'danger' | 'danger solid' | undefined;
  small?: boolean;
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
};

/// A button with only an icon needs an aria-label, which also becomes its tooltip.
export function Button({ icon, look, small, busy, children, className, ...rest }: ButtonProps) {
  const classes = ['btn', look ?? '', small ? 'small' : '', children === undefined ? 'icon' : '', className ?? ''];
  return (
    <button type="button" title={rest['aria-label']} {...rest} disabled={rest.disabled || busy} className={classes.filter(Boolean).join(' ')}>
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children}
    </button>
  );
}

export function Field({ label, hint, problem, children }: {
  label: string;
  hint?: ReactNode;
  problem?: string | null | undefined;
  children: (props: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean }) => ReactNode;
}) {
  const id = useId();
  const described = hint || problem ? `${id}-more` : undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': Boolean(problem) })}
      {(problem || hint) && (
        <div id={described} className={problem ? 'problem' : 'hint'}>
          {problem || hint}
        </div>
      )}
    </div>
  );
}

export function TextField({ label, hint, problem, mono, ...rest }: InputHTMLAttributes<HTMLInputElement> & {
  label: string;
  hint?: ReactNode;
  problem?: string | null | undefined;
  mono?: boolean;
}) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(props) => <input className={`input${mono ? ' mono' : ''}`} spellCheck={false} autoComplete="off" {...props} {...rest} />}
    </Field>
  );
}

export function Segmented<T extends string>({ label, value, options, onChange, small }: {
  label: string;
  value: T;
  options: { value: T; label: string }[];
  onChange: (value: T) => void;
  small?: boolean;
}) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} className={`segmented${small ? ' small' : ''}`}>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} />
          {option.label}
        </label>
      ))}
    </div>
  );
}

export function Check({ label, checked, onChange }: { label: ReactNode; checked: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={(e) => onChange(e.target.checked)} />
      <span>{label}</span>
    </label>
  );
}

export function Spinner({ label = 'Loading' }: { label?: string }) {
  return (
    <span role="status" className="row muted">
      <span className="spinner" aria-hidden="true" />
      {label}…
    </span>
  );
}

export function ErrorNote({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  const { title, text } = describe(error);
  return (
    <div className="note bad" role="alert">
      <Icon name="warn" />
      <div className="grow">
        <div className="what">{title}</div>
        <div className="body">{text}</div>
      </div>
      {retry && <Button small onClick={retry}>Try again</Button>}
    </div>
  );
}

export function Note({ kind, children }: { kind?: 'warn' | 'good' | 'bad'; children: ReactNode }) {
  return (
    <div className={`note ${kind ?? ''}`}>
      <div className="body grow">{children}</div>
    </div>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} size={30} />
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/// A whole page for what is not there.
export function Missing({ icon, title, href, back, retry, children }: { icon: IconName; title: string; href: string; back: string; retry: () => void; children: ReactNode }) {
  return (
    <div className="page">
      <div className="inner">
        <div className="card" role="alert">
          <Empty icon={icon} title={title}>
            <p>{children}</p>
            <div className="row"><Button onClick={retry}>Try again</Button><a className="btn primary" href={href}>{back}</a></div>
          </Empty>
        </div>
      </div>
    </div>
  );
}

export function Progress({ value, label }: { value: number; label: string }) {
  const percent = Math.max(0, Math.min(100, value));
  return (
    <div className="progress" role="progressbar" aria-label={label} aria-valuenow={Math.round(percent)} aria-valuemin={0} aria-valuemax={100}>
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}
