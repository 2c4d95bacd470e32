import { Module } from '@nestjs/common';
import { PreparedStatementsModule } from '../database/prepared-statements.module.js';
import { MailLimits } from './mail-limits.js';
import { Mailer } from './mailer.js';

@Module({ imports: [PreparedStatementsModule], providers: [Mailer, MailLimits], exports: [Mailer, MailLimits] })
export class MailModule {}
