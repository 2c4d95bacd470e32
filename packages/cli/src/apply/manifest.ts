import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { Refusal } from '../service.js';

/** The values of one entry, as they are in the file, with the variables filled in. */
export type Entry = Readonly<Record<string, unknown>>;
/** The entries of each section that the file has, by their names. */
export type Manifest = ReadonlyMap<string, ReadonlyMap<string, Entry>>;

/** `${NAME}`; `$${NAME}` stands for itself. */
const VARIABLE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * Reads a manifest. @param sections the sections that exist, with the properties of their entries
 * @throws Refusal with every fault: of the syntax, unknown sections and properties, variables that are not set
 */
export async function readManifest(
  file: string,
  sections: ReadonlyMap<string, ReadonlySet<string>>,
  env: NodeJS.ProcessEnv,
): Promise<Manifest> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Refusal(`${file} cannot be read.`);
  });
  const document = parseDocument(text);
  const [syntax] = document.errors;
  if (syntax !== undefined) throw new Refusal(`${file}: ${syntax.message}`);
  const faults: string[] = [];
  const manifest = new Map<string, Map<string, Entry>>();
  for (const [section, entries] of entriesOf(document.toJS() as unknown, '', faults)) {
    const properties = sections.get(section);
    if (properties === undefined) {
      faults.push(`${section} is no section. There are ${[...sections.keys()].join(', ')}.`);
      continue;
    }
    const of = new Map<string, Entry>();
    for (const [name, entry] of entriesOf(entries, section, faults)) {
      const path = `${section}.${name}`;
      for (const [property] of entriesOf(entry, path, faults)) {
        if (!properties.has(property))
          faults.push(`${path}.${property} is no property. There are ${[...properties].join(', ')}.`);
      }
      of.set(name, filledIn(entry ?? {}, path, env, faults) as Entry);
    }
    manifest.set(section, of);
  }
  if (faults.length > 0)
    throw new Refusal([`${file} cannot be applied:`, ...faults.map((fault) => `  ${fault}`)].join('\n'));
  return manifest;
}

/** An empty section is written as nothing. */
function entriesOf(value: unknown, path: string, faults: string[]): [string, unknown][] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'object' && !Array.isArray(value)) return Object.entries(value);
  faults.push(`${path === '' ? 'The file' : path} must be a map.`);
  return [];
}

function filledIn(value: unknown, path: string, env: NodeJS.ProcessEnv, faults: string[]): unknown {
  if (Array.isArray(value)) return value.map((item, index) => filledIn(item, `${path}.${index}`, env, faults));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, filledIn(item, `${path}.${key}`, env, faults)]),
    );
  }
  if (typeof value !== 'string') return value;
  return value.replaceAll(VARIABLE, (match, escape: string, name: string) => {
    if (escape !== '') return match.slice(1);
    const found = env[name];
    if (found === undefined) faults.push(`${path}: the environment variable ${name} is not set.`);
    return found ?? '';
  });
}
