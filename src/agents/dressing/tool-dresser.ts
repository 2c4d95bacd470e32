import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import type { FieldError } from '../../core/domain-error.js';
import { ArgumentChecker } from '../../upstreams/arguments/argument-checker.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import type { DressedTool } from '../records/agent.js';
import {
  fillArguments,
  refusalOfArguments,
  type DressedSchema,
  dressSchema,
  SchemaMisfit,
  argumentsOf,
  type DressedArguments,
  type ToolDressing,
} from './tool-dressing.js';

/** A dressed tool, undefined while it cannot be listed, or why the dressing does not fit it, in a sentence. */
export type Dressed =
  | { readonly tool: KnownTool | undefined; readonly misfit?: undefined }
  | { readonly tool?: undefined; readonly misfit: string };

/** A tool, undefined while it cannot be listed, as the agents inside dress it. */
export interface ToolToDress {
  readonly tool: KnownTool | undefined;
  readonly dressing?: ToolDressing;
}

/** Gives tools the descriptions and arguments that agents want for them. */
@Injectable()
export class ToolDresser {
  constructor(private readonly checker: ArgumentChecker) {}

  /** @param owner the connection or agent that has the tool */
  async dressTool(
    { tool, dressing }: ToolToDress,
    selected: DressedTool,
    owner: Pick<Connection, 'id' | 'organizationId'>,
  ): Promise<Dressed> {
    const args = argumentsOf(selected);
    try {
      if (dressing !== undefined) requireUncovered(args, dressing);
      if (tool === undefined) return { tool };
      const { description = tool.definition.description } = selected;
      const definition = { ...tool.definition, description };
      if (args.covered.length === 0) return { tool: { ...tool, definition } };
      const schema = dressSchema(tool.inputSchema, args);
      await this.requireFit(schema, args, owner);
      const inputSchema = schema.shown as typeof definition.inputSchema;
      return { tool: { ...tool, inputSchema, definition: { ...definition, inputSchema } } };
    } catch (error) {
      if (!(error instanceof SchemaMisfit)) throw error;
      return { misfit: error.sentenceFor(selected.tool) };
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
    if (verdict.outcome === 'unfit') refuseFixed(verdict.faults);
  }
}

/**
 * Like its callers, an agent does not set what an agent inside covers, as it could with the value of a whole object.
 * @throws SchemaMisfit
 */
function requireUncovered(args: DressedArguments, inner: ToolDressing): void {
  refuseFixed(refusalOfArguments(inner, fillArguments(args, {}))?.errors);
}

function refuseFixed([fault]: readonly FieldError[] = []): void {
  if (fault !== undefined) throw new SchemaMisfit(`does not accept a fixed value: ${fault.path} ${fault.message}`);
}
