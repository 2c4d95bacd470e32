import { Injectable } from '@nestjs/common';
import type { Principal } from '../../core/principal.js';
import type { WarningItem } from '../../core/spend-limit.dto.js';
import { PreparedStatements } from '../database/prepared-statements.js';

const UNPRICED = {
  name: 'spend_unpriced',
  text: `SELECT path FROM spend_unpriced($1) WHERE EXISTS (SELECT FROM spend_limits WHERE organization_id = $1)`,
};
const MESSAGE = 'The model has no price, so no run with a spending limit calls it. Set one with MODEL_TIERS_SET.';

/** Warns of models without a price in organizations with a spending limit. */
@Injectable()
export class SpendWarnings {
  constructor(private readonly statements: PreparedStatements) {}

  /** The warnings for the answer to a change of spending limits or tiers; none if it sets nothing. */
  async after(change: unknown, { organization }: Principal): Promise<{ warnings?: WarningItem[] }> {
    if (change === undefined || change === null) return {};
    const rows = await this.statements.rows<{ path: string }>(UNPRICED, [organization.id]);
    if (rows.length === 0) return {};
    return { warnings: rows.map(({ path }) => ({ path, code: 'price_missing', message: MESSAGE })) };
  }
}
