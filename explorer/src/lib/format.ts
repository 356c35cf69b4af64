const integer = new Intl.NumberFormat('en-US');

export const count = (n: number): string => integer.format(n);

export const plural = (n: number, one: string, many = one + 's'): string => `${count(n)} ${n === 1 ? one : many}`;

export function bytes(n: number): string {
  if (n < 1024) return `${Math.round(n)} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = n / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const ru = (n: number): string =>
  `${n >= 1000 ? integer.format(Math.round(n)) : n.toFixed(2)} RU`;

export const milliseconds = (n: number): string => (n < 10 ? `${n.toFixed(1)} ms` : n < 10_000 ? `${Math.round(n)} ms` : `${(n / 1000).toFixed(1)} s`);

export const time = (seconds: number): string => new Date(seconds * 1000).toLocaleString();
