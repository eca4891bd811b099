"""Drawers: the cash that they should hold, and its counts."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.base import views_of
from chalicelib.schemas.drawer import DrawerAnswer, DrawersAnswer, DrawerView, ListDrawers, ReportDrawer
from chalicelib.services import drawers


def report(body: ReportDrawer, caller: Caller) -> DrawerAnswer:
    """Report the cash that a drawer should hold on a day, or store its float or count first."""
    found = drawers.report(body, caller, outside.now())
    [one] = found.drawers
    return DrawerAnswer(drawer=DrawerView.of(one, body.gmt, found.gmt))


def list_of_day(body: ListDrawers, caller: Caller) -> DrawersAnswer:
    """List the drawers of a day: of everyone who took or gave back cash, or counted."""
    found = drawers.list_of_day(body, caller, outside.now())
    return DrawersAnswer(drawers=views_of(lambda one: DrawerView.of(one, body.gmt, found.gmt), found.drawers))
