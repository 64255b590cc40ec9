import type { Membership } from '../accounts/memberships.ts';

/** The address of a page about a business names it, so that two tabs can show two businesses. */
const ROUTE = '/businesses/:business/';

/** The route of a page about a business, such as `members`. */
export function businessRoute(page: string): string {
  return ROUTE + page;
}

export function isBusinessRoute(route: string | undefined): boolean {
  return route?.startsWith(ROUTE) ?? false;
}

/** The address of such a page. */
export function businessPath({ businessId }: Pick<Membership, 'businessId'>, page: string): string {
  return `/businesses/${businessId}/${page}`;
}

const PAGES_OF_OWNERS = ['settings', 'audit-log'];

/** The page to open after a switch: the same list in the other business, if the user may see it there. */
export function pathAfterSwitch(path: string, to: Membership): string {
  const [, page] = /^\/businesses\/[^/]*\/([\w-]+)/.exec(path) ?? [];
  if (page === undefined) return path;
  const isOpen = to.role === 'owner' || !PAGES_OF_OWNERS.includes(page);
  return businessPath(to, isOpen ? page : 'connected-apps');
}
