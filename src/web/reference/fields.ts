import { type Html, html } from '../../lib/html.ts';
import { prose } from '../components.ts';
import { type Schema, typeOf } from './document.ts';

export function schemaFields(schema: Schema): Html {
  return fieldList(listFields(schema));
}

/** The fields of a nested object follow it, named `object.field`, or `list[].field` in a list of objects. */
function listFields({ properties = {}, required = [] }: Schema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    {
      name: prefix + name,
      note: [typeOf(schema), required.includes(name) && 'required'].filter(Boolean).join(', '),
      meaning: schema.description ?? '',
    },
    ...listFields(schema, `${prefix}${name}.`),
    ...listFields(schema.items ?? {}, `${prefix}${name}[].`),
  ]);
}

interface Field {
  name: string;
  note: string;
  meaning: string;
}

export function fieldList(fields: Field[]): Html {
  const rows = fields.map(
    ({ name, note, meaning }) =>
      html`<div><dt><code>${name}</code> <span class="muted small">${note}</span></dt><dd>${prose(meaning)}</dd></div>`,
  );
  return html`${rows.length > 0 && html`<dl class="fields">${rows}</dl>`}`;
}

export function sample(text: string): Html {
  return html`<pre class="sample"><code>${text}</code></pre>`;
}
