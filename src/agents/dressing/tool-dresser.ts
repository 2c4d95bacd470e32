import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { ArgumentChecker } from '../../upstreams/arguments/argument-checker.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import type { DressedTool } from '../records/selected-tool.js';
import { fillArguments } from './filled-arguments.js';
import { type DressedSchema, dressSchema, SchemaMisfit } from './shown-schema.js';
import { argumentsOf, type DressedArguments } from './tool-dressing.js';

/** A dressed tool, or why the dressing does not fit it, in a sentence. */
export type Dressed =
  { readonly tool: KnownTool; readonly misfit?: undefined } | { readonly tool?: undefined; readonly misfit: string };

/** Gives tools the descriptions and arguments that agents want for them. */
@Injectable()
export class ToolDresser {
  constructor(private readonly checker: ArgumentChecker) {}

  /** @param owner the connection or agent that has the tool */
  async dressTool(
    tool: KnownTool,
    selected: DressedTool,
    owner: Pick<Connection, 'id' | 'organizationId'>,
  ): Promise<Dressed> {
    const { description = tool.definition.description } = selected;
    const definition = { ...tool.definition, description };
    const args = argumentsOf(selected);
    if (args.covered.length === 0) return { tool: { ...tool, definition } };
    try {
      const schema = dressSchema(tool.inputSchema, args);
      await this.requireFit(schema, args, owner);
      const inputSchema = schema.shown as typeof definition.inputSchema;
      return { tool: { ...tool, inputSchema, definition: { ...definition, inputSchema } } };
    } catch (error) {
      if (!(error instanceof SchemaMisfit)) throw error;
      return { misfit: `The agent's selection does not fit the tool "${tool.name}": it ${error.message}.` };
    }
  }

  /** @throws SchemaMisfit for a fixed value that the schema of its argument does not accept */
  private async requireFit(
    { fixed }: DressedSchema,
    args: DressedArguments,
    { id, organizationId }: Pick<Connection, 'id' | 'organizationId'>,
  ): Promise<void> {
    if (args.fixed.length === 0) return;
    const verdict = await this.checker.validateArguments(fixed, fillArguments(args, {}), id, organizationId);
    const [fault] = verdict.outcome === 'unfit' ? verdict.faults : [];
    if (fault !== undefined) throw new SchemaMisfit(`does not accept a fixed value: ${fault.path} ${fault.message}`);
  }
}
