import type { Signalbox } from '../../client/src/signalbox.js';
import { Refusal } from './service.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @param name the id or the exact title of an agent; a title that several agents have is refused */
export async function findAgent(signalbox: Signalbox, name: string): Promise<{ id: string; title: string }> {
  if (UUID.test(name)) return (await signalbox.tool('COLLECTION_VIRTUAL_MCP_GET', { id: name })).item;
  const { items } = await signalbox.tool('COLLECTION_VIRTUAL_MCP_LIST', {
    where: { field: ['title'], operator: 'eq', value: name },
  });
  const [agent, other] = items;
  if (agent === undefined) throw new Refusal(`There is no agent with the title "${name}".`);
  if (other !== undefined) throw new Refusal(`${items.length} agents have the title "${name}". Use an id.`);
  return agent;
}
