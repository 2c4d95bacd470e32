import type { BrowserServer } from 'playwright-core';

/**
 * Where Debian's package installs it (`.ci/run`): the build without a user interface, which takes a third less processor
 * time for the same tests.
 */
export const CHROMIUM = '/usr/bin/chromium-headless-shell';

/**
 * Starts one browser for each Jest worker that asks, for all its suites: a start takes longer than most of their tests.
 */
export class SharedBrowsers {
  private readonly servers = new Map<string, Promise<BrowserServer>>();

  /** Where the suites of a worker connect to their browser. */
  async addressFor(worker: string): Promise<string> {
    const server = this.servers.get(worker) ?? this.launch(worker);
    this.servers.set(worker, server);
    return (await server).wsEndpoint();
  }

  private async launch(worker: string): Promise<BrowserServer> {
    try {
      // A run without a browser does not load what starts it.
      const { chromium } = await import('playwright-core');
      const server = await chromium.launchServer({
        executablePath: CHROMIUM,
        args: ['--no-sandbox'],
        host: '127.0.0.1',
      });
      // The next suite gets another one.
      server.on('close', () => this.servers.delete(worker));
      return server;
    } catch (error) {
      this.servers.delete(worker);
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const server of await Promise.allSettled(this.servers.values())) {
      if (server.status === 'fulfilled') await server.value.close();
    }
  }
}
