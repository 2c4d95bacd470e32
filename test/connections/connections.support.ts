import { expect } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { useStarted } from '../support/use-started.js';

export const TOKEN = 'token-that-nobody-may-see-0123456789';
export const HEADER = 'header-that-nobody-may-see-0123456789';
/** Port 9 (discard) answers nowhere on a test machine. */
export const DEAD_URL = 'http://127.0.0.1:9/mcp';

export interface Item {
  id: string;
  [field: string]: unknown;
}

interface Row {
  connection_token: string | null;
  connection_headers: string | null;
  revision: number;
  tools: { name: string }[] | null;
}

interface ConnectionsApp {
  readonly service: Tenant;
  /** Calls a tool that has to succeed; no answer may ever hold a secret. */
  call<T>(this: void, name: string, body: object): Promise<T>;
  create(this: void, data?: object): Promise<Item>;
  update(this: void, id: string, data: object): Promise<Item>;
  get(this: void, id: string): Promise<Item>;
  rowOf(this: void, id: string): Promise<Row>;
}

/** Makes a tenant for the spec file that calls this; `service` is there once `beforeAll` has run. */
export function useConnectionsApp(): ConnectionsApp {
  const service = useStarted(newTenant);

  async function call<T>(name: string, body: object): Promise<T> {
    const answer = await service.tool(name, body);
    expect(answer.text).not.toMatch(/nobody-may-see/);
    expect({ name, status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
    return answer.body as T;
  }

  async function create(data: object = {}): Promise<Item> {
    const defaults = { connection_type: 'HTTP', title: 'Upstream', connection_url: DEAD_URL };
    return (await call<{ item: Item }>('COLLECTION_CONNECTIONS_CREATE', { data: { ...defaults, ...data } })).item;
  }

  async function update(id: string, data: object): Promise<Item> {
    return (await call<{ item: Item }>('COLLECTION_CONNECTIONS_UPDATE', { id, data })).item;
  }

  async function get(id: string): Promise<Item> {
    return (await call<{ item: Item }>('COLLECTION_CONNECTIONS_GET', { id })).item;
  }

  async function rowOf(id: string): Promise<Row> {
    const rows: Row[] = await service.query('SELECT * FROM connections WHERE id = $1', [id]);
    expect(rows).toHaveLength(1);
    return rows[0] as Row;
  }

  return {
    get service() {
      return service;
    },
    call,
    create,
    update,
    get,
    rowOf,
  };
}
