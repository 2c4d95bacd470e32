import type { BrowserServer } from 'playwright-core';

/**
 * Debian's packages (`.ci/run`), and what they install in `/usr/bin`. The one without a user interface takes a third less
 * processor time for the same tests; the suite of tabs fails in it.
 */
export type ChromiumPackage = 'chromium-headless-shell' | 'chromium';

/**
 * Starts one browser of a package for each Jest worker that asks, for all its suites: a start takes longer than most of their tests.
 */
export class SharedBrowsers {
  private readonly servers = new Map<string, Promise<BrowserServer>>();

  /**
   * Where the suites of a worker connect to their browser.
   * @param name `<package>/<worker>`
   */
  async addressFor(name: string): Promise<string> {
    const server = this.servers.get(name) ?? this.launch(name);
    this.servers.set(name, server);
    return (await server).wsEndpoint();
  }

  private async launch(name: string): Promise<BrowserServer> {
    try {
      // A run without a browser does not load what starts it.
      const { chromium } = await import('playwright-core');
      const server = await chromium.launchServer({
        executablePath: `/usr/bin/${name.split('/')[0]}`,
        args: ['--no-sandbox'],
        host: '127.0.0.1',
      });
      // The next suite gets another one.
      server.on('close', () => this.servers.delete(name));
      return server;
    } catch (error) {
      this.servers.delete(name);
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const server of await Promise.allSettled(this.servers.values())) {
      if (server.status === 'fulfilled') await server.value.close();
    }
  }
}
