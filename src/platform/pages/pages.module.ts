import { Module } from '@nestjs/common';
import { HomeController } from './home.controller.js';
import { PageFilesController } from './page-files.controller.js';

/** Server-rendered pages: `sendPage` and `form` need no provider, only the route of their files. */
@Module({ controllers: [PageFilesController, HomeController] })
export class PagesModule {}
