import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../identity/api-keys/api-keys.module.js';
import { OrganizationsModule } from '../identity/organizations/organizations.module.js';
import { FirstStartService } from './first-start.service.js';

@Module({
  imports: [OrganizationsModule, ApiKeysModule],
  providers: [FirstStartService],
  exports: [FirstStartService],
})
export class FirstStartModule {}
