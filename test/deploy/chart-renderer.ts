import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from '@jest/globals';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';

const CHART = fileURLToPath(new URL('../../deploy/helm/signalbox/', import.meta.url));
const SOURCE = fileURLToPath(new URL('./render-chart/main.go', import.meta.url));
/** Where Debian's packages with Go libraries install them (`.ci/run`). */
const LIBRARIES = '/usr/share/gocode';

const isInstalled =
  spawnSync('go', ['version']).status === 0 && existsSync(join(LIBRARIES, 'src/github.com/Masterminds/sprig'));
const isRequired = isInstalled || process.env['CI'] !== undefined;
if (!isRequired) process.stderr.write('There is no Go with Sprig. The tests of the Helm chart are left out.\n');

/** `describe` for tests that render the chart. In CI they always run, and fail without Go. */
export const withGo = isRequired ? describe : describe.skip;

export type Values = Readonly<Record<string, unknown>>;

/** An object of Kubernetes, as far as the tests look at every kind. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly spec?: unknown;
}

/**
 * Renders the chart of this repository with Go's templates and Sprig, as Helm does. It is not Helm: the test knows no
 * other functions of Helm than those that the chart uses.
 */
export class ChartRenderer {
  private constructor(
    private readonly folder: string,
    private readonly defaults: Values,
    private readonly isValid: ValidateFunction,
  ) {}

  /** Compiles the program that renders. */
  static async open(): Promise<ChartRenderer> {
    const folder = await mkdtemp(join(tmpdir(), 'signalbox-chart-'));
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: LIBRARIES };
    const built = spawnSync('go', ['build', '-o', join(folder, 'render'), SOURCE], { env, encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`${built.error?.message ?? ''}${built.stderr}`);
    const schema: object = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'));
    const defaults = parse(await readFile(join(CHART, 'values.yaml'), 'utf8')) as Values;
    return new ChartRenderer(folder, defaults, new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema));
  }

  /**
   * Validates the values and renders all templates.
   * @throws Error with the places of invalid values, or of a template
   */
  render(values: Values): { manifests: Manifest[]; notes: string } {
    if (!this.isValid(merged(this.defaults, values))) {
      const places = this.isValid.errors?.map(({ instancePath, message, params }) =>
        [instancePath, message, JSON.stringify(params)].join(' '),
      );
      throw new Error(`The values are invalid: ${places?.join('; ')}`);
    }
    const input = JSON.stringify({ chart: CHART, release: 'box', namespace: 'production', values });
    const rendered = spawnSync(join(this.folder, 'render'), { input, encoding: 'utf8' });
    if (rendered.status !== 0) throw new Error(rendered.stderr);
    const { 'NOTES.txt': notes = '', ...files } = JSON.parse(rendered.stdout) as Record<string, string>;
    return { manifests: Object.values(files).flatMap(manifestsIn), notes };
  }

  close(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text, { strict: true, uniqueKeys: true }).flatMap((document) => {
    const [fault] = document.errors;
    if (fault !== undefined) throw new Error(`${fault.message}\n${text}`);
    return (document.toJS() as Manifest | null) ?? [];
  });
}

/** As Helm merges: maps member by member, everything else as a whole. */
function merged(defaults: Values, given: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = Object.entries(given).map(([name, value]) => {
    const under = defaults[name];
    return [name, isMap(under) && isMap(value) ? merged(under, value) : value] as const;
  });
  return { ...defaults, ...Object.fromEntries(members) };
}
