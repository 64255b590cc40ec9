import type { Browser, Locator, Page } from 'playwright-core';
import type { Frame } from './encode.ts';
import { onStage, SCALE, type Scene, STAGE, type Step, stageMarkup, VIEW } from './stage.ts';

const STEPS_OF_A_MOVE = 6;
const MOVE = 40;
const CLICK = 500;

interface Point {
  x: number;
  y: number;
}

/** Films pages in a drawn window. Collects the frames, each with the time that it is shown. */
export class Camera {
  readonly frames: Frame[] = [];
  private readonly stage: Page;
  private readonly steps: Step[];
  private pointer: Point = { x: VIEW.width * 0.7, y: VIEW.height * 0.8 };
  private step = 0;

  private constructor(stage: Page, steps: Step[]) {
    this.stage = stage;
    this.steps = steps;
  }

  static async open(browser: Browser, colorScheme: 'light' | 'dark', steps: Step[]): Promise<Camera> {
    const context = await browser.newContext({ viewport: STAGE, deviceScaleFactor: SCALE, colorScheme });
    return new Camera(await context.newPage(), steps);
  }

  /** The next step of the caption. */
  nextStep(): void {
    this.step += 1;
  }

  async showTerminal(text: string, delay: number): Promise<void> {
    await this.draw({ title: 'Terminal', view: { text } });
    await this.keep(delay);
  }

  /** Without the pointer, which would hide text. */
  async showPage(page: Page, delay: number): Promise<void> {
    await this.drawPage(page);
    await this.keep(delay);
  }

  /** Shows the pointer on its way, and then clicks. */
  async click(page: Page, target: Locator): Promise<void> {
    const { x, y } = await this.pointAt(page, target);
    await page.mouse.click(x, y);
  }

  /** Shows the pointer on its way, and the place of the click. */
  async pointAt(page: Page, target: Locator): Promise<Point> {
    const box = await target.boundingBox();
    if (!box) throw new Error(`${target} is not on the page.`);
    const [from, to] = [this.pointer, { x: box.x + box.width / 2, y: box.y + box.height / 2 }];
    await this.drawPage(page);
    for (let i = 0; i < STEPS_OF_A_MOVE; i++) {
      await this.movePointer(between(from, to, i / STEPS_OF_A_MOVE), false);
      await this.keep(MOVE);
    }
    await page.mouse.move(to.x, to.y);
    await this.drawPage(page);
    await this.movePointer(to, true);
    await this.keep(CLICK);
    this.pointer = to;
    return to;
  }

  private async drawPage(page: Page): Promise<void> {
    // The script disables Allow for a moment.
    await page.waitForFunction(() => !document.querySelector('[data-delayed][aria-disabled]'));
    const png = await page.screenshot({ animations: 'disabled' });
    await this.draw({ title: `${new URL(page.url()).host} — ${await page.title()}`, view: { png } });
  }

  private async draw(scene: Omit<Scene, 'step'>): Promise<void> {
    await this.stage.setContent(stageMarkup({ ...scene, step: this.step }, this.steps));
    await this.stage.evaluate(() => document.fonts.ready.then(() => undefined));
  }

  private async movePointer(to: Point, isDown: boolean): Promise<void> {
    await this.stage.evaluate(
      ({ x, y, isDown }) => {
        for (const id of ['pointer', 'ring']) {
          const mark = document.getElementById(id);
          mark?.setAttribute('style', `left: ${x}px; top: ${y}px`);
          mark?.toggleAttribute('hidden', id === 'ring' && !isDown);
        }
      },
      { ...onStage(to), isDown },
    );
  }

  private async keep(delay: number): Promise<void> {
    this.frames.push({ png: await this.stage.screenshot({ omitBackground: true }), delay });
  }
}

/** Slow at both ends. */
function between(from: Point, to: Point, share: number): Point {
  const eased = share * share * (3 - 2 * share);
  return { x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased };
}
