import { Command } from 'commander';
import { Refusal, serviceCommand, serviceOf } from './service.js';
import { say } from './terminal.js';

const SECONDS = { m: 60, h: 3_600, d: 86_400 };

export function keyCommand(): Command {
  const create = serviceCommand('create')
    .description('create an API key and print it; it is shown only once')
    .argument('<name>', 'what the key is for')
    .option('--permission <permission...>', 'such as self:RUN_GET, <connection id>:echo, or *:* (default: none)')
    .option('--expires <time>', 'after which the key ends, such as 90d, 12h or 30m')
    .action(
      async (
        name: string,
        { permission = [], expires }: { permission?: string[]; expires?: string },
        command: Command,
      ) => {
        const { signalbox } = serviceOf(command);
        const { key } = await signalbox.tool('API_KEY_CREATE', {
          name,
          permissions: permissionMap(permission),
          ...(expires === undefined ? {} : { expiresIn: secondsOf(expires) }),
        });
        say(key);
      },
    );
  return new Command('key').description('API keys').addCommand(create);
}

function permissionMap(permissions: readonly string[]): Record<string, string[]> {
  const map: Record<string, string[]> = {};
  for (const permission of permissions) {
    const [, where, tool] = /^([^:]+):(.+)$/.exec(permission) ?? [];
    if (where === undefined || tool === undefined)
      throw new Refusal(`"${permission}" is not of the form <where>:<tool>.`);
    (map[where] ??= []).push(tool);
  }
  return map;
}

function secondsOf(text: string): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new Refusal(`"${text}" is not a time such as 90d, 12h or 30m.`);
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}
