import { type Command, type Option, optionsOf } from './command.ts';

interface Word {
  word: string;
  help: string;
}

const HELP: Word = { word: 'help', help: 'List the commands, or explain one' };
const VERSION: Word = { word: 'version', help: 'Print the version' };

export function bashScript(commands: Command[]): string {
  const words = [...nextWords(commands)].map(([before, next]) => [before, next.map(({ word }) => word)] as const);
  const options = commands.map((command) => [command.name, valuesAndOptions(command)] as const);
  const values = valuesOf(commands).map(({ after, choices, isFile }) =>
    isFile ? `    ${quote(after)}) files=yes ;;` : `    ${quote(after)}) words=${quote(choices.join(' '))} ;;`,
  );
  return `# bash completion of gatehouse
_gatehouse() {
  local line="\${COMP_LINE:0:COMP_POINT}" command='' words='' files='' current='' previous word
  local -a before
  read -ra before <<< "$line"
  if [[ "$line" != *[[:space:]] ]]; then
    current="\${before[-1]}"
    unset 'before[-1]'
  fi
  previous="\${before[-1]}"
  for word in "\${before[@]:1}"; do
    [[ "$word" == -* ]] && break
    [[ "$word" == help ]] || command="\${command:+$command }$word"
  done
  case "$command $previous" in
${values.join('\n')}
    *) case "$command" in
${[...words, ...options].map(([name, next]) => `      ${quote(name)}) words=${quote(next.join(' '))} ;;`).join('\n')}
${commands.filter(takesFile).map(fileCase).join('\n')}
    esac ;;
  esac
  if [[ -n "$files" ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
  # To bash, a colon begins a new word.
  COMPREPLY=("\${COMPREPLY[@]#"\${current%"\${current##*:}"}"}")
}
complete -o filenames -F _gatehouse gatehouse`;
}

const takesFile = ({ argument }: Command): boolean => argument?.name === 'FILE';
const fileCase = ({ name }: Command): string => `      ${quote(`${name} `)}*) files=yes ;;`;

export function zshScript(commands: Command[]): string {
  const describe = (words: Word[]) =>
    words.map(({ word, help }) => quote(`${word.replaceAll(':', '\\:')}:${help}`)).join(' ');
  const words = [...nextWords(commands)].map(
    ([before, next]) => `      ${quote(before)}) names=(${describe(next)}) ;;`,
  );
  const options = commands.map(
    (command) => `      ${quote(command.name)}) names=(${describe(optionWords(command))}) ;;`,
  );
  const values = valuesOf(commands).map(
    ({ after, choices, isFile }) => `    ${quote(after)}) ${isFile ? '_files' : `compadd -- ${choices.join(' ')}`} ;;`,
  );
  return `#compdef gatehouse
_gatehouse() {
  local command='' previous="\${words[CURRENT-1]}" word
  local -a names
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] && break
    [[ "$word" == help ]] || command="\${command:+$command }$word"
  done
  case "$command $previous" in
${values.join('\n')}
    *) case "$command" in
${[...words, ...options].join('\n')}
    esac
    _describe gatehouse names ;;
  esac
}
if [[ "\${funcstack[1]}" == _gatehouse ]]; then _gatehouse "$@"; else compdef _gatehouse gatehouse; fi`;
}

export function fishScript(commands: Command[]): string {
  const on = (command: string) => `complete -c gatehouse -n ${quote(`__gatehouse_command_is "${command}"`)}`;
  const words = [...nextWords(commands)].flatMap(([before, next]) =>
    next.map(({ word, help }) => `${on(before)} -a ${word} -d ${quote(help)}`),
  );
  const options = commands.flatMap((command) => [
    ...(command.argument ? [`${on(command.name)} ${argumentOf(command.argument)}`] : []),
    ...Object.entries(allOptions(command)).map(([option, { value, help, choices = [] }]) => {
      const kind = value === undefined ? '' : isFileOption(value) ? ' -r -F' : ` -x -a ${quote(choices.join(' '))}`;
      return `${on(command.name)} -l ${option}${kind} -d ${quote(help)}`;
    }),
  ]);
  return `# fish completion of gatehouse
function __gatehouse_command_is
  set -l command
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and break
    test $word = help; or set -a command $word
  end
  test "$command" = "$argv"
end
complete -c gatehouse -f
${[...words, ...options].join('\n')}`;
}

const argumentOf = ({ choices }: { choices?: readonly string[] }): string =>
  choices ? `-a ${quote(choices.join(' '))}` : '-F';

/** The words that can follow: `add` after `user`, and `serve` at the beginning. */
function nextWords(commands: Command[]): Map<string, Word[]> {
  const next = new Map<string, Word[]>([['', [HELP, VERSION]]]);
  for (const { name, summary } of commands) {
    const words = name.split(' ');
    for (const [i, word] of words.entries()) {
      const before = words.slice(0, i).join(' ');
      const known = next.get(before) ?? [];
      const help = i === words.length - 1 ? summary : `Commands for ${word}`;
      if (!known.some((each) => each.word === word)) next.set(before, [...known, { word, help }]);
    }
  }
  return next;
}

function valuesAndOptions(command: Command): string[] {
  return [...(command.argument?.choices ?? []), ...Object.keys(allOptions(command)).map((name) => `--${name}`)];
}

function optionWords(command: Command): Word[] {
  const { argument } = command;
  const values = (argument?.choices ?? []).map((word) => ({ word, help: argument?.help ?? '' }));
  return [...values, ...Object.entries(allOptions(command)).map(([name, { help }]) => ({ word: `--${name}`, help }))];
}

/** What can follow an option that takes a value. */
function valuesOf(commands: Command[]) {
  return commands.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, { value, choices = [] }]) =>
      value === undefined ? [] : [{ after: `${name} --${option}`, choices, isFile: isFileOption(value) }],
    ),
  );
}

const isFileOption = (value: string): boolean => value === 'FILE';

function allOptions(command: Command): Record<string, Option> {
  return { ...optionsOf(command), help: { help: 'Explain the command' } };
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
