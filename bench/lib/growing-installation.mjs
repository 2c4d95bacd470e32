import { join } from 'node:path';
import { generateApiKey } from '../../dist/core/api-key-value.js';
import { generateEncryptionKey } from '../../dist/core/config/encryption-keys.js';
import { onDatabase } from './databases.mjs';
import { postJson } from './http-client.mjs';
import { measureLatency } from './measure.mjs';
import { MCP_HEADERS } from './proxy-targets.mjs';
import { startService } from './service.mjs';
import { storeConnectionsAndAgents } from './store-organization.mjs';
import { copiedIds, storeOrganizations } from './store-organizations.mjs';

/** What an organization has, apart from its owner, two API keys, a schedule, and the records of all that. */
const CONNECTIONS = 10;
const RUNS = 5;
/** Once a year, so that the schedule posts no run while anything is measured. */
const YEARLY = '0 0 1 1 *';
const OWNER = { BOOTSTRAP_OWNER_EMAIL: 'owner@example.com', BOOTSTRAP_OWNER_PASSWORD: 'bench correct horse battery' };

/** A service with a database of its own that holds more of something: organizations, agents or connections. */
export class GrowingInstallation {
  #options;
  #connection;
  #agent;
  #copies = [];

  /** @param {{ title: string, database: string, organizations: number, agents?: number, connections?: number }} size */
  constructor(size) {
    this.size = size;
    this.service = undefined;
  }

  /**
   * Creates the organization with the API of a service, and copies it, or parts of it, with SQL. Leaves no service
   * running.
   * @param {import('./databases.mjs').Scope} scope
   * @param {string} upstream the URL of an MCP server with the tool `echo`
   */
  async store(scope, upstream) {
    const { database, organizations, agents, connections } = this.size;
    const databaseUrl = await scope.createDatabase(database);
    this.#options = {
      dataDir: join(scope.folder, database),
      apiKey: generateApiKey(),
      databaseUrl,
      // The upstream listens on loopback.
      env: { ...OWNER, UPSTREAM_ALLOW_PRIVATE: 'true', ENCRYPTION_KEYS: generateEncryptionKey('bench') },
    };
    scope.defer(() => this.stop());
    await this.start();
    await this.#createParts(upstream);
    await measureLatency(this.service, RUNS);
    await this.stop();
    await onDatabase(databaseUrl, async (client) => {
      this.#copies = await storeOrganizations(client, organizations - 1);
      if (agents !== undefined) await storeConnectionsAndAgents(client, { agents, connections });
    });
  }

  /** @returns the milliseconds from the start of the process until it listens */
  async start() {
    this.service = await startService(this.#options);
    return this.service.listensAfterMs;
  }

  async stop() {
    await this.service?.stop();
    this.service = undefined;
  }

  /** The targets of `measureInTurns`: a connection, and an agent over it. */
  targets() {
    const { api, headers, pid } = this.service;
    const target = (path) => ({ url: `${api}/mcp/${path}`, headers: { ...MCP_HEADERS, ...headers }, pid });
    return { connection: target(this.#connection), agent: target(`gateway/${this.#agent}`) };
  }

  /** A target whose calls go to the connections of as many organizations in turn, each with a key of its own. */
  async targetOver(organizations) {
    const { url, pid } = this.service;
    const chosen = this.#copies.slice(0, organizations);
    const numbers = chosen.map(({ n }) => n);
    const ids = await onDatabase(this.#options.databaseUrl, (client) => copiedIds(client, this.#connection, numbers));
    const endpoints = chosen.map(({ slug, key }, i) => ({
      url: `${url}/api/${slug}/mcp/${ids[i]}`,
      headers: { ...MCP_HEADERS, authorization: `Bearer ${key}` },
    }));
    return { ...endpoints[0], endpoints, pid };
  }

  async #createParts(upstream) {
    const { api, headers } = this.service;
    const tool = (name, input) => postJson(`${api}/tools/${name}`, headers, input);
    const create = async (kind, data) => (await tool(`COLLECTION_${kind}_CREATE`, { data })).item.id;
    const connections = [];
    for (let i = 1; i <= CONNECTIONS; i++) {
      const data = { connection_type: 'HTTP', title: `Upstream ${i}`, connection_url: upstream };
      connections.push(await create('CONNECTIONS', data));
    }
    const over = (ids) => ids.map((connection_id, i) => ({ connection_id, ...(i > 0 && { prefix: `c${i}` }) }));
    this.#connection = connections[0];
    this.#agent = await create('VIRTUAL_MCP', { title: 'One upstream', connections: over(connections.slice(0, 1)) });
    await create('VIRTUAL_MCP', { title: 'Five upstreams', connections: over(connections.slice(0, 5)) });
    await tool('API_KEY_CREATE', { name: 'integration', permissions: { [this.#connection]: ['echo'] } });
    await tool('SCHEDULE_CREATE', {
      data: { title: 'Yearly', virtual_mcp_id: this.#agent, cron: YEARLY, message: 'What was last year?' },
    });
  }
}
