/** All scopes, in the order of the API reference. */
export const SCOPES = [
  'read:invoices',
  'write:invoices',
  'read:contacts',
  'write:contacts',
  'read:deals',
  'write:deals',
  'read:expenses',
  'read:reports',
  'read:employees',
  'read:orders',
];
