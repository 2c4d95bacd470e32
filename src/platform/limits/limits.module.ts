import { Module } from '@nestjs/common';
import { PreparedStatementsModule } from '../database/prepared-statements.module.js';
import { OrganizationCaps } from './organization-caps.js';
import { QuotaStore } from './quota-store.js';
import { RateLimits } from './rate-limits.js';
import { RequestLimits } from './request-limits.js';

/** Rate limits of keys, organizations and connections. All processes count together. */
@Module({
  imports: [PreparedStatementsModule],
  providers: [QuotaStore, RateLimits, OrganizationCaps, RequestLimits],
  exports: [RateLimits, OrganizationCaps, RequestLimits],
})
export class LimitsModule {}
