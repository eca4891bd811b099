"""Drawers: from a float to a count."""

from functools import partial

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import zone_of
from chalicelib.schemas.base import Headers, views_of
from chalicelib.schemas.drawer import DrawerAnswer, DrawersAnswer, DrawerView, ListDrawers, ReportDrawer
from chalicelib.services import drawers


def report(body: ReportDrawer, caller: Caller, headers: Headers) -> DrawerAnswer:
    """Open, count or read a drawer, or pay cash into it or out of it."""
    key = headers.idempotency_key if body.readable("action") else None
    found = drawers.report(body, caller, outside.now(), key=key)
    view = DrawerView.of(found.rows[0], zone_of(body.gmt, found.gmt)) if found.rows else None
    return DrawerAnswer.of(view, replayed=found.replayed)


def list_opened(body: ListDrawers, caller: Caller) -> DrawersAnswer:
    """List the drawers of a period, and the cash that was in none."""
    found = drawers.list_opened(body, caller, outside.now())
    view = partial(DrawerView.of, gmt=zone_of(body.gmt, found.gmt))
    return DrawersAnswer(drawers=views_of(view, found.rows), earlier=views_of(view, found.earlier))
