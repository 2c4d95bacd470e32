import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal, serviceCommand, serviceOf } from '../service.js';
import { printable, say } from '../terminal.js';
import { Agents } from './agents.js';
import { Connections } from './connections.js';
import { type Manifest, readManifest } from './manifest.js';
import { ModelTiers } from './model-tiers.js';
import { Organization } from './organization.js';
import { Roles } from './roles.js';
import { Schedules } from './schedules.js';
import type { Change, Section } from './section.js';
import { Webhooks } from './webhooks.js';

interface ApplyOptions {
  readonly file: string;
  readonly prune?: boolean;
  readonly yes?: boolean;
  readonly plan?: boolean;
}

const SIGNS = { create: '+', update: '~', delete: '-' };

export function applyCommand(): Command {
  return serviceCommand('apply')
    .description(
      'bring connections, agents, roles, schedules, webhooks, model tiers and limits to what a file says; shows the plan first',
    )
    .option('-f, --file <file>', 'the file', 'signalbox.yaml')
    .option('--plan', 'only show the plan; the exit code is 2 if something would change')
    .option('--prune', 'delete what the file’s sections do not name')
    .option('-y, --yes', 'do not ask')
    .action(async (options: ApplyOptions, command: Command) => {
      const sections = sectionsOf(serviceOf(command).signalbox);
      const properties = new Map(sections.map((section) => [section.name, section.properties]));
      const manifest = await readManifest(options.file, properties, process.env);
      const changes = await planOf(sections, manifest, options.prune === true);
      show(changes);
      if (changes.length === 0) return;
      if (options.plan) {
        process.exitCode = 2;
        return;
      }
      if (!options.yes && !(await isConfirmed())) throw new Refusal('Nothing was changed.');
      for (const change of changes) await change.make();
      say('Done.');
    });
}

export function exportCommand(): Command {
  return serviceCommand('export')
    .description(
      'print connections, agents, roles, schedules, webhooks, model tiers and limits as a file for "apply"; secrets become ${VARIABLES}',
    )
    .action(async (_options, command: Command) => {
      const entries: Record<string, Record<string, unknown>> = {};
      for (const section of sectionsOf(serviceOf(command).signalbox)) {
        const managed = [...(await section.existing())].filter(([, { isManaged }]) => isManaged);
        if (managed.length > 0)
          entries[section.name] = Object.fromEntries(managed.map(([name, { entry }]) => [name, entry]));
      }
      process.stdout.write(Object.keys(entries).length === 0 ? '' : stringify(entries));
    });
}

/** In the order in which they refer to each other. */
function sectionsOf(signalbox: Signalbox): Section[] {
  const connections = new Connections(signalbox);
  const agents = new Agents(signalbox, connections);
  return [
    connections,
    agents,
    new Roles(signalbox, [connections, agents]),
    new Schedules(signalbox, agents),
    new Webhooks(signalbox, agents),
    new ModelTiers(signalbox),
    new Organization(signalbox),
  ];
}

/** Creates and updates in the order of references, then deletes in the opposite order. */
async function planOf(sections: readonly Section[], manifest: Manifest, prunes: boolean): Promise<Change[]> {
  const changes: Change[] = [];
  for (const section of sections) {
    changes.push(...(await section.changesFor(manifest.get(section.name) ?? new Map(), manifest)));
  }
  for (const section of sections.toReversed()) {
    const entries = manifest.get(section.name);
    if (!prunes || entries === undefined) continue;
    for (const [name, existing] of await section.existing()) {
      if (entries.has(name) || !existing.isManaged) continue;
      const make = (): Promise<void> => section.delete(existing);
      changes.push({ action: 'delete', section: section.name, name, properties: [], make });
    }
  }
  return changes;
}

function show(changes: readonly Change[]): void {
  for (const { action, section, name, properties } of changes) {
    const which = action === 'update' && properties.length > 0 ? `: ${properties.join(', ')}` : '';
    say(printable(`${SIGNS[action]} ${section}.${name}${which}`));
  }
  const count = (action: Change['action']): number => changes.filter((change) => change.action === action).length;
  if (changes.length === 0) say('Nothing to change.');
  else say(`${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete.`);
}

/** @throws Refusal where nobody can answer */
async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) throw new Refusal('Nothing was changed. Without a terminal, --yes is needed.');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Make these changes? [y/N] ');
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}
