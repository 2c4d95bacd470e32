import { basename } from 'node:path';
import type { UpstreamTarget } from '../contract/upstream-target.js';

const EVERY_MS = 2_000;
/** They install a program before they start it, and print nothing meanwhile. */
const INSTALLERS: ReadonlySet<string> = new Set(['npx', 'uvx', 'bunx']);

/** Says at regular intervals that a program has not answered yet. */
export class StartProgress {
  private readonly startedAt = performance.now();
  private readonly timer: NodeJS.Timeout;
  private saying: Promise<unknown> = Promise.resolve();

  /** @param say takes a sentence; a failure is ignored */
  private constructor(
    private readonly command: string,
    private readonly say: (sentence: string) => Promise<unknown>,
  ) {
    this.timer = setInterval(() => this.tick(), EVERY_MS);
  }

  /** Begins for a program; other targets answer soon or never. */
  static of(target: UpstreamTarget, say: (sentence: string) => Promise<unknown>): StartProgress | undefined {
    return target.kind === 'stdio' ? new StartProgress(target.command, say) : undefined;
  }

  /** Resolves when the last sentence has been taken. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    await this.saying;
  }

  private tick(): void {
    const seconds = Math.round((performance.now() - this.startedAt) / 1000);
    const installs = INSTALLERS.has(basename(this.command))
      ? ` ${basename(this.command)} first installs a program that is not on the machine of the service yet.`
      : '';
    const sentence = `The program has been starting for ${seconds} s.${installs}`;
    this.saying = this.say(sentence).catch(() => undefined);
  }
}
