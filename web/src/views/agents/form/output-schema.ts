import type { ToolInput } from '../../../../../packages/client/src/api.js';

type OutputSchema = NonNullable<ToolInput<'COLLECTION_VIRTUAL_MCP_CREATE'>['data']['output_schema']>;

/** The text of a schema as the form shows it; empty without one. */
export function schemaTextOf(schema: object | null | undefined): string {
  return schema ? JSON.stringify(schema, null, 2) : '';
}

/** The schema in the text; null if it is empty. The service checks more than the form does. */
export function schemaOf(text: string): OutputSchema | null {
  return text.trim() === '' ? null : (JSON.parse(text) as OutputSchema);
}

/** What keeps the text from being sent. */
export function schemaFaultOf(text: string): string | undefined {
  try {
    const schema: unknown = schemaOf(text);
    const isSchema = typeof schema === 'object' && (schema === null || ('type' in schema && schema.type === 'object'));
    return isSchema ? undefined : 'A schema is an object whose type is "object".';
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}
