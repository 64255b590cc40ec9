import { type Html, html } from '../../lib/html.ts';
import { prose } from '../components.ts';
import {
  type Document,
  type Media,
  nameOf,
  type OperationResponse,
  pageOfSchema,
  type RouteOperation,
  typeOf,
} from './document.ts';
import { fieldList, sample, schemaFields } from './fields.ts';

/** The error responses that several operations of a page share. The page shows each once, in a section of its own. */
export interface CommonErrors {
  page: string;
  /** By status. */
  responses: Record<string, OperationResponse>;
}

/** A status counts if every operation that has it responds in the same way. */
export function listCommonErrors(page: string, operations: RouteOperation[]): CommonErrors {
  const errors = operations.flatMap(({ responses }) => Object.entries(responses).filter(([status]) => status >= '400'));
  const responses: CommonErrors['responses'] = {};
  for (const [status, [first, ...others]] of Map.groupBy(errors, ([name]) => name)) {
    const text = JSON.stringify(first);
    const isCommon = others.length > 0 && others.every((other) => JSON.stringify(other) === text);
    if (first && isCommon) responses[status] = first[1];
  }
  return { page, responses };
}

export function commonErrorsSection(document: Document, { responses }: CommonErrors): Html {
  const rows = Object.entries(responses).map(([status, response]) => responseDetails(document, status, response));
  return html`${rows.length > 0 && html`<section class="card" id="errors"><h2 class="tag">Common errors</h2>${rows}</section>`}`;
}

/** Leads to the section of the page. */
export function commonError({ page, responses }: CommonErrors, status: string): Html {
  const { description = '' } = responses[status] ?? {};
  return html`<p class="common"><a href="${page}#errors"><span class="status">${status}</span></a> ${prose(description)}</p>`;
}

/** Every response has `x-request-id`, so it is described once, in the overview. */
export function responseDetails(
  document: Document,
  status: string,
  { description, headers = {}, content = {} }: OperationResponse,
): Html {
  const [media] = Object.values(content);
  const shown = Object.entries(headers).filter(([name]) => name !== 'x-request-id');
  const rows = shown.map(([name, { schema, description: meaning = '' }]) => ({
    name,
    note: `header, ${typeOf(schema)}`,
    meaning,
  }));
  return html`<details ${status.startsWith('2') && html`open`}><summary><span class="status">${status}</span> ${prose(description)}</summary>
${fieldList(rows)}
${media && mediaDetails(document, media)}
</details>`;
}

/** The example of a shape is in its own section. */
function mediaDetails(document: Document, { schema, example, 'x-reasons': reasons }: Media): Html {
  const shape = nameOf(schema.$ref ?? schema.items?.$ref ?? '');
  if (shape) {
    return html`<p>${schema.items && 'A list of the shape '}<a href="${pageOfSchema(document, shape)}#shape-${shape}">${shape}</a>${reasons && ', for these reasons:'}</p>
${reasons && html`${reasonList(reasons)}${errorExample(example as Record<string, string>)}`}`;
  }
  return html`${schemaFields(schema)}
${example !== undefined && sample(typeof example === 'string' ? example : JSON.stringify(example, null, 2))}`;
}

function reasonList(reasons: Record<string, string[]>): Html {
  const items = Object.entries(reasons).flatMap(([code, names]) =>
    names.map((name) => html`<li><a href="/docs/errors/${code}#${name}"><code>${name}</code></a></li>`),
  );
  return html`<ul class="reasons">${items}</ul>`;
}

/** The overview shows the four fields that all errors have, so the description is enough unless there are more. */
function errorExample(example: Record<string, string>): Html {
  if (Object.keys(example).length > 4) return sample(JSON.stringify(example, null, 2));
  return html`<p class="muted">For example: ${example.error_description}</p>`;
}
