/** Parses a URI with an authority by RFC 3986, without normalization. */
interface Uri {
  scheme: string;
  userinfo: string | undefined;
  host: string;
  port: string | undefined;
  path: string;
  query: string | undefined;
  fragment: string | undefined;
}

// Appendix A of the RFC, rule by rule.
const UNRESERVED = 'A-Za-z0-9\\-._~';
const SUB_DELIMS = "!$&'()*+,;=";
const ENCODED = '%[0-9A-Fa-f]{2}';
const of = (more: string) => `(?:[${UNRESERVED}${SUB_DELIMS}${more}]|${ENCODED})*`;
const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4 = `${OCTET}(?:\\.${OCTET}){3}`;
const AUTHORITY = `(?:(?<userinfo>${of(':')})@)?(?<host>\\[(?<literal>[^\\]]*)\\]|${of('')})(?::(?<port>[0-9]*))?`;
const URI = new RegExp(
  `^(?<scheme>[A-Za-z][A-Za-z0-9+\\-.]*)://${AUTHORITY}(?<path>(?:/${of(':@')})*)` +
    `(?:\\?(?<query>${of(':@/?')}))?(?:#(?<fragment>${of(':@/?')}))?$`,
);

/** Undefined if the grammar does not match. */
export function parseUri(text: string): Uri | undefined {
  const found = URI.exec(text)?.groups as (Uri & { literal: string | undefined }) | undefined;
  if (!found) return undefined;
  const { literal, ...uri } = found;
  return literal === undefined || isIPv6(literal) ? uri : undefined;
}

/** Eight groups of 16 bits, with an IPv4 address at the end and one `::` allowed. No zones. */
function isIPv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const lengths = halves.map((half, index) => lengthOf(half, index === halves.length - 1));
  const length = lengths.reduce((sum, each) => sum + each, 0);
  return halves.length === 2 ? length <= 7 : length === 8;
}

/** The number of groups; too many if it is invalid. */
function lengthOf(half: string, isLast: boolean): number {
  if (half === '') return 0;
  const groups = half.split(':');
  const last = groups.at(-1) ?? '';
  const hasIPv4 = isLast && new RegExp(`^${IPV4}$`).test(last);
  const others = hasIPv4 ? groups.slice(0, -1) : groups;
  return others.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group)) ? others.length + (hasIPv4 ? 2 : 0) : 9;
}
