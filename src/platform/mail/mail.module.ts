import { Module } from '@nestjs/common';
import { PreparedStatementsModule } from '../database/prepared-statements.module.js';
import { MailLimits, Mailer } from './mail.js';

@Module({ imports: [PreparedStatementsModule], providers: [Mailer, MailLimits], exports: [Mailer, MailLimits] })
export class MailModule {}
