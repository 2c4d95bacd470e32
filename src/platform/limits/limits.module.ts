import { Module } from '@nestjs/common';
import { PreparedStatementsModule } from '../database/prepared-statements.module.js';
import { OrganizationCaps } from './organization-caps.js';
import { QuotaStore } from './quota-store.js';
import { RateLimits } from './rate-limits.js';
import { RequestLimits } from './request-limits.js';
import { SpendWarnings } from './spend-warnings.js';

/**
 * Rate limits of keys, organizations and connections, which all processes count together; warnings of spending limits.
 */
@Module({
  imports: [PreparedStatementsModule],
  providers: [QuotaStore, RateLimits, OrganizationCaps, RequestLimits, SpendWarnings],
  exports: [RateLimits, OrganizationCaps, RequestLimits, SpendWarnings],
})
export class LimitsModule {}
