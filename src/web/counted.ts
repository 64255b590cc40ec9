import type { Impact } from '../grants/impact.ts';

/** One kind of thing, and how many of it. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** Who has connected an app. */
export function reachText({ businesses, users }: Impact): string {
  if (users === 0) return 'nobody';
  return `${counted(businesses, 'business', 'businesses')}, ${counted(users, 'user', 'users')}`;
}
