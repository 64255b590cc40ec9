import type { Command } from './command.ts';
export const demoCommand: Command = { name: 'demo', summary: 'x', options: {}, run: async () => undefined };
