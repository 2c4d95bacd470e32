import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { copyContext, copyCurrentBuild } from '../support/build-context.js';
import { outputOf } from '../support/program.js';

interface Instruction {
  readonly name: string;
  readonly text: string;
}

interface Stage {
  readonly base: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** The container that the last stage of a Dockerfile describes. */
export interface Image {
  /** The folder of `WORKDIR`. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
  readonly user: string;
  /** The commands of the last stage, which are not run: they prepare the file system of the container. */
  readonly preparation: readonly string[];
}

/**
 * Does what a Dockerfile says without a container engine: the paths of the container lie below `root`, the programs are
 * those of this machine. Knows the instructions that this repository's Dockerfile uses, and refuses others.
 *
 * What the checkout has already is not made again: the packages that `npm ci` installs before the build, and the build
 * of the same sources. `scripts/build.mjs` takes a build only if every file that decides over it is in the context,
 * with the same content.
 * @param env the environment of `RUN`
 */
export async function buildImage(repository: string, root: string, env: NodeJS.ProcessEnv): Promise<Image> {
  const stages = stagesOf(await readFile(join(repository, 'Dockerfile'), 'utf8'));
  const last = stages.at(-1);
  const image = {
    env: {} as Record<string, string>,
    command: [''],
    healthCheck: [''],
    user: '',
    preparation: [] as string[],
  };
  const folders = new Map<string, string>();
  let folder = root;
  for (const stage of stages) {
    const top = join(root, stage.name);
    folders.set(stage.name, top);
    for (const { name, text } of stage.instructions) {
      if (name === 'WORKDIR') await mkdir((folder = join(top, text)), { recursive: true });
      else if (name === 'COPY') await copy(text);
      else if (name === 'RUN' && stage === last) image.preparation.push(text);
      else if (name === 'RUN' && text === 'npm ci')
        await symlink(join(repository, 'node_modules'), `${folder}/node_modules`);
      else if (name === 'RUN') await outputOf('/bin/sh', ['-c', text], { cwd: folder, env });
      else if (name === 'ENV')
        Object.assign(image.env, Object.fromEntries(text.split(' ').map((pair) => pair.split('='))));
      else if (name === 'CMD') image.command = JSON.parse(text);
      else if (name === 'HEALTHCHECK') image.healthCheck = JSON.parse(text.slice(text.indexOf('CMD') + 3));
      else if (name === 'USER') image.user = text;
      else if (!['ARG', 'EXPOSE', 'VOLUME'].includes(name)) throw new Error(`${name} is not known here.`);
    }
  }
  return { ...image, folder };

  async function copy(text: string): Promise<void> {
    const words = text.split(' ');
    const from = /^--from=(.*)$/.exec(words[0] ?? '')?.[1];
    const [to = '', ...sources] = (from === undefined ? words : words.slice(1)).toReversed();
    for (const source of sources) {
      if (from !== undefined) await cp(join(folders.get(from) ?? '', source), resolve(folder, to), { recursive: true });
      else await copyContext(repository, source, resolve(folder, to));
      if (from === undefined && source === '.') await copyCurrentBuild(repository, resolve(folder, to));
    }
  }
}

function stagesOf(dockerfile: string): Stage[] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  const stages: (Stage & { instructions: Instruction[] })[] = [];
  for (const line of lines.filter((each) => each !== '')) {
    const [, name = '', text = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
    const [, base = '', stage = 'final'] = (name === 'FROM' && /^(\S+)(?: AS (\w+))?$/.exec(text)) || [];
    if (name === 'FROM') stages.push({ base, name: stage, instructions: [] });
    else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}
