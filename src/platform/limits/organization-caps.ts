import { Injectable } from '@nestjs/common';
import type { CountLimits, OrganizationLimits } from '../../core/limits.js';
import { AppConfig } from '../../core/config/app-config.js';

/** The limits that apply to an organization: its own, and the operator's caps for each organization. */
@Injectable()
export class OrganizationCaps {
  private readonly caps: CountLimits;
  readonly isEmpty: boolean;

  constructor(config: AppConfig) {
    this.caps = config.settings.organizationCaps;
    this.isEmpty = Object.keys(this.caps).length === 0;
  }

  /** The lower of the organization's own limit and the cap; undefined if there is neither. */
  limitOf(limits: OrganizationLimits | undefined, name: keyof CountLimits): number | undefined {
    const [own, cap] = [limits?.[name], this.caps[name]];
    return own === undefined || cap === undefined ? (own ?? cap) : Math.min(own, cap);
  }
}
