// `npm run role-matrix`: writes who may open which page to docs/reference/roles.md.
import { writeFileSync } from 'node:fs';
import { renderRoleMatrix } from '../test/http/tenancy/role-matrix.ts';

writeFileSync(new URL('../docs/reference/roles.md', import.meta.url), await renderRoleMatrix());
