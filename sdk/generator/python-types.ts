import { capitalized, enumOf, isDecimal, type Member, type ObjectType, type Schema } from './model.ts';

/** `from` is a keyword. */
export function snake(name: string): string {
  const text = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return text === 'from' ? 'from_' : text;
}

/** With the title of its resource, whose module names the choices. */
export function dataclassOf({ name, description, base, members }: ObjectType, title = ''): string {
  const lines = members.map(
    ({ schema, ...member }) =>
      `    ${snake(member.name)}: ${readType({ schema, ...member }, title)}\n    """${schema.description}"""`,
  );
  const head = `@dataclass(frozen=True, slots=True, kw_only=True)\nclass ${name}${base ? `(${base})` : ''}:`;
  return `${head}\n    """${description}"""\n\n${lines.join('\n')}`;
}

function readType({ name, schema, typeName }: Member, title: string): string {
  if (typeName) return `tuple[${typeName}, ...]`;
  return withNull(schema, title && enumOf(schema) ? choiceName(title, name) : plainType(schema));
}

export const choiceName = (title: string, name: string) => `${title}${capitalized(name)}`;

export function choiceOf(title: string, { name, schema }: Member): string {
  const values = enumOf(schema)?.map((value) => `"${value}"`);
  const note = 'The known values; a newer Gatehouse may send others.';
  return `${choiceName(title, name)} = Literal[${values?.join(', ')}]\n"""${note}"""`;
}

function plainType(schema: Schema): string {
  const types = typesOf(schema);
  if (types.includes('integer')) return 'int';
  if (types.includes('boolean')) return 'bool';
  if (isDecimal(schema)) return 'Decimal';
  if (schema.format === 'date') return 'dt.date';
  return schema.format === 'date-time' ? 'dt.datetime' : 'str';
}

const typesOf = ({ type, anyOf }: Schema) => [type, ...(anyOf ?? []).map((each) => each.type)].flat();
const withNull = (schema: Schema, type: string) => (typesOf(schema).includes('null') ? `${type} | None` : type);

export function typedDictsOf(type: ObjectType): string[] {
  const required = type.members.filter(({ isRequired }) => isRequired);
  const optional = type.members.filter(({ isRequired }) => !isRequired);
  const description = type.description || `What \`create\` takes.`;
  if (required.length === 0) return [typedDict(type.name, optional, description)];
  const base = `_${type.name}`;
  const lines = required.map(inputLine).join('\n');
  const first = `class ${optional.length > 0 ? base : type.name}(TypedDict):\n`;
  if (optional.length === 0) return [`${first}    """${description}"""\n\n${lines}`];
  return [`${first}${lines}`, typedDict(type.name, optional, description, base)];
}

export function typedDict(name: string, members: Member[], description: string, base = 'TypedDict'): string {
  const lines = members.map(inputLine).join('\n');
  return `class ${name}(${base}, total=False):\n    """${description}"""\n\n${lines}`;
}

function inputLine(member: Member): string {
  const { name, schema, typeName } = member;
  const choices = schema.enum?.map((value) => `"${value}"`);
  const plain = plainType(schema);
  const type = choices ? `Literal[${choices.join(', ')}]` : /^(Decimal|dt\.)/.test(plain) ? `${plain} | str` : plain;
  return `    ${snake(name)}: ${typeName ? `Sequence[${typeName}]` : withNull(schema, type)}`;
}
