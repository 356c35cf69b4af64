const paths = {
  database: 'M3 5c0-1.4 2.7-2.5 6-2.5S15 3.6 15 5v8c0 1.4-2.7 2.5-6 2.5S3 14.4 3 13V5Zm0 0c0 1.4 2.7 2.5 6 2.5S15 6.4 15 5M3 9c0 1.4 2.7 2.5 6 2.5S15 10.4 15 9',
  container: 'M2.5 5.5 9 2.5l6.5 3v7L9 15.5l-6.5-3v-7Zm0 0L9 8.5m0 0 6.5-3M9 8.5v7',
  plus: 'M9 3.5v11M3.5 9h11',
  close: 'm4.5 4.5 9 9m0-9-9 9',
  chevron: 'm6.5 4 5 5-5 5',
  down: 'm4 6.5 5 5 5-5',
  more: 'M9 4.2v.1M9 9v.1M9 13.8v.1',
  search: 'M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10Zm3.8-1.2L15 15',
  refresh: 'M14.5 9A5.5 5.5 0 1 1 12.6 4.8M14.5 2.5v3.2h-3.2',
  play: 'M5.5 3.5v11l8.5-5.5-8.5-5.5Z',
  stop: 'M5 5h8v8H5z',
  trash: 'M3.5 5h11M7 5V3.2h4V5m-6 0 .6 9.8h6.8L13 5M7.5 8v4M10.5 8v4',
  copy: 'M6.5 6.5h8v8h-8zM11.5 6.5v-3h-8v8h3',
  save: 'M3.5 3.5h8.5l2.5 2.5v8.5h-11v-11Zm3 0v3.5h5V3.5m-5 11V10h5v4.5',
  upload: 'M9 11.5v-8m0 0L5.8 6.7M9 3.5l3.2 3.2M3.5 11.5v3h11v-3',
  download: 'M9 3.5v8m0 0 3.2-3.2M9 11.5 5.8 8.3M3.5 11.5v3h11v-3',
  sun: 'M9 12a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM9 1.5v1.6M9 14.9v1.6M1.5 9h1.6M14.9 9h1.6M3.7 3.7l1.1 1.1M13.2 13.2l1.1 1.1M3.7 14.3l1.1-1.1M13.2 4.8l1.1-1.1',
  moon: 'M14.5 10.5A6 6 0 0 1 7.5 3.5a6 6 0 1 0 7 7Z',
  warn: 'M9 2.8 16 15H2L9 2.8Zm0 4.4v3.6m0 2v.1',
  check: 'm3.5 9.5 3.5 3.5 7.5-8',
  star: 'm9 2.5 2 4.2 4.5.6-3.3 3.2.8 4.6-4-2.2-4 2.2.8-4.6-3.3-3.2 4.5-.6L9 2.5Z',
  clock: 'M9 15.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM9 5.5V9l2.5 1.5',
  key: 'M11.5 10a3.7 3.7 0 1 0-3.6-2.8L2.8 12.3V15h2.7v-1.8h1.8v-1.8l1-1A3.7 3.7 0 0 0 11.5 10Zm.7-4.2v.1',
  menu: 'M3 5h12M3 9h12M3 13h12',
  script: 'M6.5 5 2.5 9l4 4m5-8 4 4-4 4',
  gear: 'M9 11.3a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6ZM9 2v2M9 14v2M2 9h2M14 9h2M4 4l1.4 1.4M12.6 12.6 14 14M4 14l1.4-1.4M12.6 5.4 14 4',
  out: 'M11.5 12.5v2h-8v-11h8v2M8 9h7.5m0 0L13 6.5M15.5 9 13 11.5',
  pencil: 'm3 15 .7-3.2 8.3-8.3 2.5 2.5-8.3 8.3L3 15Zm7.5-10 2.5 2.5',
  item: 'M4.5 2.5h6l3 3v10h-9v-13Zm6 0v3h3M7 9h4M7 12h4',
  pause: 'M6 4v10M12 4v10',
};

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 18 18" fill="none" stroke="currentColor" strokeWidth="1.5"
      strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      <path d={paths[name]} strokeWidth={name === 'more' ? 2.2 : 1.5} />
    </svg>
  );
}
