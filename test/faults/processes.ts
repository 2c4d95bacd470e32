import { realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.js';
import { ServiceProcess } from '../support/service-process.js';

/** Longer than the 14.5 s within which the service promises to exit, for a busy machine. */
const EXIT_WITHIN_MS = 30_000;
const READY = 'The service is ready';
/** The build that is there at the beginning, whatever is built meanwhile. */
const MAIN = realpathSync(fileURLToPath(new URL('../../dist/main.js', import.meta.url)));
const CRASH = /Unhandled|Uncaught|throw er;|FATAL ERROR/;

export type Role = 'api' | 'worker';

/** One place of a process in the installation. Whatever ends there is started again, as by an orchestrator. */
export interface Place {
  readonly role: Role;
  /** Where it listens, also after a restart. */
  readonly url: string;
  process: ServiceProcess;
}

/** The service's processes in a trial: two with the role `api` and two with the role `worker`. */
export class Processes {
  readonly places: Place[] = [];
  /** What no process may do: end without a signal, crash, or answer SIGTERM with anything but 0 in time. */
  readonly faults: string[] = [];
  readonly kills: Record<`${Role} ${'SIGKILL' | 'SIGTERM'}`, number> = {
    'api SIGKILL': 0,
    'api SIGTERM': 0,
    'worker SIGKILL': 0,
    'worker SIGTERM': 0,
  };
  /** How often a process gave up its start, because a store was away. */
  failedStarts = 0;
  /** How often SIGTERM found a process in which Node.js had not yet run the service's first line. */
  endedBeforeMain = 0;
  slowestExitMs = 0;
  private readonly env: Record<string, string>;
  private readonly outputs: { name: string; process: ServiceProcess }[] = [];
  private readonly ready = new WeakSet<ServiceProcess>();
  private readonly ending = new WeakSet<ServiceProcess>();
  private isStopping = false;

  private constructor(env: Record<string, string>) {
    this.env = env;
  }

  /** Starts two processes of each role. Resolves when the `api` processes listen. */
  static async start(env: Record<string, string>): Promise<Processes> {
    const processes = new Processes(env);
    for (const role of ['api', 'api', 'worker', 'worker'] as const) {
      const port = await freePort();
      const place = { role, url: `http://127.0.0.1:${port}`, process: processes.launch(role, port) };
      processes.places.push(place);
      // One process creates the organization and its key.
      if (role === 'api') await place.process.listening();
      void processes.keepRunning(place, port);
    }
    return processes;
  }

  get apiUrls(): string[] {
    return this.places.filter(({ role }) => role === 'api').map(({ url }) => url);
  }

  /** Sends the signal to the process in this place and waits until it has exited. */
  async end(place: Place, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { process, role } = place;
    if (!this.isUndisturbed(place)) return;
    this.ending.add(process);
    this.kills[`${role} ${signal}`]++;
    const wasReady = this.isReady(place);
    const begun = performance.now();
    const late = sleep(EXIT_WITHIN_MS, 'late' as const, { ref: false });
    const code = await Promise.race([process.kill(signal), late]);
    const took = performance.now() - begun;
    if (signal === 'SIGKILL') return;
    this.slowestExitMs = Math.max(this.slowestExitMs, took);
    const what = `${role} process (${wasReady ? 'ready' : 'still starting'})`;
    if (code === 'late') {
      this.faults.push(`SIGTERM: a ${what} was still there after ${EXIT_WITHIN_MS} ms`);
      await process.kill('SIGKILL');
    } else if (code === 'SIGTERM' && !wasReady) {
      this.endedBeforeMain++;
    } else if (code !== 0) {
      this.faults.push(`SIGTERM: a ${what} exited with ${String(code)}: ${process.output.slice(-300)}`);
    }
  }

  /** True once the process in this place has completed its start. */
  isReady({ process }: Place): boolean {
    if (!this.ready.has(process) && process.output.includes(READY)) this.ready.add(process);
    return this.ready.has(process);
  }

  /**
   * True while the process in this place runs and no signal to end it was sent. A second SIGTERM would end it at once.
   */
  isUndisturbed({ process }: Place): boolean {
    return !process.hasEnded && !this.ending.has(process);
  }

  /** Ends all processes with SIGTERM. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all(this.places.map((place) => this.end(place, 'SIGTERM')));
    await Promise.all(this.places.map(({ process }) => process.exit()));
    for (const { name, process } of this.outputs) {
      const crash = CRASH.exec(process.output);
      if (crash !== null) this.faults.push(`${name} crashed: ${process.output.slice(crash.index, crash.index + 500)}`);
    }
  }

  /** What each process has printed, by name. */
  *logs(): Generator<[name: string, text: string]> {
    for (const { name, process } of this.outputs) yield [name, process.output];
  }

  private launch(role: Role, port: number): ServiceProcess {
    const process = new ServiceProcess({ ...this.env, ROLE: role, PORT: String(port) }, MAIN);
    this.outputs.push({ name: `${role}-${port}-${this.outputs.length}`, process });
    return process;
  }

  private async keepRunning(place: Place, port: number): Promise<void> {
    for (;;) {
      const { process } = place;
      const ending = await process.exit();
      if (this.isStopping) return;
      const wasReady = this.isReady(place);
      if (typeof ending === 'number' && ending !== 0) {
        if (wasReady)
          this.faults.push(`A ready ${place.role} process exited with ${ending}: ${process.output.slice(-500)}`);
        else this.failedStarts++;
        await sleep(200);
      }
      // `stop` can have begun meanwhile.
      if (this.isStopping) return;
      place.process = this.launch(place.role, port);
    }
  }
}
