import { Module } from '@nestjs/common';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { ChangeFeed } from './change-feed.js';
import { ChangesController } from './changes.controller.js';
import { ObservedRepository } from './observed.repository.js';

/** The live stream of an organization's changes. */
@Module({
  imports: [CredentialsModule],
  controllers: [ChangesController],
  providers: [ChangeFeed, ObservedRepository],
})
export class ChangesModule {}
