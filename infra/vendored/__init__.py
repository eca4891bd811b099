"""The commands that update the committed files of other projects."""
