import { Module } from '@nestjs/common';
import { StylesheetController } from './stylesheet.controller.js';

/** Server-rendered pages: `sendPage` and `form` need no provider, only the stylesheet's route. */
@Module({ controllers: [StylesheetController] })
export class PagesModule {}
