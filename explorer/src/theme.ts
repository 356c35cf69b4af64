import { Store } from './lib/hooks';

export type ThemeChoice = 'system' | 'light' | 'dark';

const media = matchMedia('(prefers-color-scheme: dark)');
export const themeChoice = new Store<ThemeChoice>((localStorage.getItem('orrery.theme') as ThemeChoice | null) ?? 'system');

export const isDark = (): boolean => {
  const choice = themeChoice.get();
  return choice === 'dark' || (choice === 'system' && media.matches);
};

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
}

export function chooseTheme(choice: ThemeChoice): void {
  if (choice === 'system') localStorage.removeItem('orrery.theme');
  else localStorage.setItem('orrery.theme', choice);
  themeChoice.set(choice);
  apply();
}

media.addEventListener('change', () => {
  apply();
  themeChoice.set(themeChoice.get());
});
apply();
