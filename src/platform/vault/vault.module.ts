import { Module } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { VaultService } from './vault.service.js';

@Module({
  providers: [
    {
      provide: VaultService,
      inject: [AppConfig],
      useFactory: (config: AppConfig) => new VaultService(config.encryptionKeys),
    },
  ],
  exports: [VaultService],
})
export class VaultModule {}
