import { type Command, UsageError } from './command.ts';
import { bashScript, fishScript, zshScript } from './completion-scripts.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completionCommand: Command = {
  name: 'completion',
  summary: 'Print a completion script for bash, zsh or fish',
  argument: { name: 'SHELL', help: 'bash, zsh or fish', example: 'bash', choices: SHELLS },
  options: {},
  examples: [
    'gatehouse completion bash > ~/.gatehouse-completion.bash',
    'gatehouse completion zsh > ~/.zfunc/_gatehouse',
    'gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish',
  ],
  async run(options) {
    const shell = SHELLS.find((name) => name === options.argument());
    if (!shell) throw new UsageError('SHELL must be bash, zsh or fish.');
    const { loadAll } = await import('./gatehouse.ts');
    return { shell, script: SCRIPTS[shell](await loadAll()) };
  },
  format: (result) => (result as { script: string }).script,
};

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };
